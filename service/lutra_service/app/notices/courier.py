"""Messages on their way: each receiver's one after another, on threads outside every request.

A receiver is claimed by one conditional update, so that of several processes one sends to it, and gets one message at a
time. A message that was claimed by a process that died is sent by another one after the lease, with the same id.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from random import Random, SystemRandom

from lutra_service.app.access import audit
from lutra_service.app.notices import channels
from lutra_service.app.notices.channels import Answer
from lutra_service.app.notices.messages import has_urgent, next_message
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.common.ids import new_id
from lutra_service.common.settings import Settings
from lutra_service.common.telemetry import DELIVERIES
from lutra_service.db.repositories.notices import OUTBOX
from lutra_service.db.schema.notices import Delivery, Receiver
from lutra_service.db.store import Store, StoreAway, UnitOfWork

log = logging.getLogger(__name__)

Send = Callable[[Receiver, Delivery, datetime], Answer]
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 1800.0
SPREAD = 0.2
"""The part of a pause by which chance makes it shorter or longer."""
GIVEN_UP_AFTER = timedelta(hours=24)
SLOTS = 16
"""The receivers to which one process sends at the same time."""
STOP_S = 12.0
"""Longer than an attempt."""


def pause(attempts: int, random: Random) -> timedelta:
    """The time before the next attempt, after this number of them."""
    seconds = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(attempts - 1, 16))
    return timedelta(seconds=seconds * random.uniform(1 - SPREAD, 1 + SPREAD))


class Courier:
    """Sends the messages of one process."""

    def __init__(self, store: Store, lease_s: float, send: Send = channels.send, random: Random | None = None) -> None:
        """A claim ends after `lease_s` if its process has not ended it."""
        self._store, self._send, self._random = store, send, random or SystemRandom()
        self._lease = timedelta(seconds=lease_s)
        self._owner = new_id("own", store.now())

    def ready(self) -> list[str]:
        """The receivers that have a message to send now, and to which no process sends."""
        return self._store.read(_ready)

    def serve(self, receiver_id: str) -> bool:
        """Send one message, if one is due and no other process sends to the receiver. Returns whether one was sent."""
        claimed = self._store.write(partial(self._claim, receiver_id=receiver_id))
        if claimed is None:
            return False
        receiver, message = claimed
        answer = self._send(receiver, message, self._store.now())
        self._store.write(lambda unit: self._mark(unit, receiver, message, answer))
        return True

    def _claim(self, unit: UnitOfWork, receiver_id: str) -> tuple[Receiver, Delivery] | None:
        if not unit.receivers.claim(receiver_id, self._owner, unit.now, unit.now + self._lease):
            return None
        receiver = unit.receivers.get(receiver_id)
        found = next_message(unit, receiver)
        if isinstance(found, Delivery):
            # What may have arrived is repeated as it is, even if this process dies before it knows.
            attempt: Document = {"attempts": found.attempts + 1, "tried_at": found.tried_at or unit.now}
            unit.deliveries.change(found.id, **attempt)
            return receiver, replace(found, **attempt)
        unit.receivers.release(receiver_id, self._owner, found)
        return None

    def _mark(self, unit: UnitOfWork, receiver: Receiver, message: Delivery, answer: Answer) -> None:
        """Keep the answer. A receiver that was deleted meanwhile has no log."""
        outcome = {"status": answer.status, "error": answer.error}
        tried_at, retry_at = message.tried_at or unit.now, None
        if answer.is_delivered:
            unit.deliveries.end([message.id], "delivered", unit.now, **outcome)
            result = "delivered"
        elif answer.is_gone or message.kind == "test" or unit.now - tried_at >= GIVEN_UP_AFTER:
            unit.deliveries.end([message.id], "failed", unit.now, **outcome)
            result = "failed"
            log.warning("the receiver %s did not get %s: %s", receiver.id, message.id, answer.error)
        else:
            unit.deliveries.change(message.id, **outcome)
            retry_at, result = unit.now + pause(message.attempts, self._random), "retried"
        unit.receivers.release(receiver.id, self._owner, retry_at)
        if answer.is_gone:
            disable(unit, receiver.id, "it answered 410: it wants nothing more")
        DELIVERIES.labels(result).inc()


def _ready(unit: UnitOfWork) -> list[str]:
    kinds = unit.deliveries.waiting_kinds()
    free = unit.receivers.free(unit.now) if kinds else []
    return [r.id for r in free if r.id in kinds and has_urgent(r, kinds[r.id], unit.now)]


def disable(unit: UnitOfWork, receiver_id: str, why: str) -> None:
    """Disable a receiver for the service, and drop its waiting messages."""
    unit.receivers.change(receiver_id, enabled=False, disabled_because=why)
    unit.deliveries.end_all(receiver_id, unit.now, f"the receiver was disabled: {why}")
    audit.record(unit, "receiver.disable", receiver_id, None, {"why": why}, database_id=None, by=SERVICE)
    log.warning("the receiver %s was disabled: %s", receiver_id, why)


class CourierThread:
    """Gives each ready receiver a thread of its own for a message. `start` and `stop` once each."""

    def __init__(self, store: Store, settings: Settings, send: Send = channels.send) -> None:
        self._courier = Courier(store, settings.lease_s, send)
        self._pause_s = settings.sweep_s
        self._sending: dict[str, threading.Thread] = {}
        self._news, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Wait for what is being sent, so that its end is stored."""
        self._stopping.set()
        self._news.set()
        for thread in (self._thread, *self._sending.values()):
            if thread.ident is not None:
                thread.join(timeout=STOP_S)

    def on_change(self, changed: Collection[str]) -> None:
        """A listener of the store: there may be something to send."""
        if OUTBOX in changed:
            self._news.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._turn()
            except StoreAway:
                pass  # the messages wait
            except Exception:
                log.exception("notices could not be sent")
            self._news.wait(self._pause_s)
            self._news.clear()

    def _turn(self) -> None:
        self._sending = {id_: thread for id_, thread in self._sending.items() if thread.is_alive()}
        for id_ in self._courier.ready():
            if id_ not in self._sending and len(self._sending) < SLOTS:
                thread = threading.Thread(target=self._serve, args=(id_,), name=f"courier {id_}", daemon=True)
                self._sending[id_] = thread
                thread.start()

    def _serve(self, receiver_id: str) -> None:
        """Message after message, as long as one is due: the receiver's order is kept by its own thread."""
        try:
            while not self._stopping.is_set() and self._courier.serve(receiver_id):
                continue
        except StoreAway:
            pass  # the lease ends, and the message is sent again
        except Exception:
            log.exception("a notice could not be sent")
