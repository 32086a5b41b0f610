"""Sends the reports in the spool: in order, in batches, and past a report on which the service fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lutra_models.wire import Receipt

from lutra_agent.errors import ServiceFailed, ServiceRefused, ServiceUnavailable
from lutra_agent.reporting.spool import Spool

BATCH_REPORTS = 100
BATCH_S = 10.0
TRIES, PATIENCE_S = 5, 600.0
"""The tries and seconds for which a report on which the service fails delays the others,"""
TRIES_OF_MORE = 2
"""and the smaller numbers if it failed on another one within HELD_S."""
HELD_S = 3600.0
"""The interval at which held reports are tried again, HELD_AT_ONCE at a time."""
HELD_AT_ONCE = 10

Send = Callable[[bytes], Receipt]

log = logging.getLogger(__name__)


@dataclass
class Stuck:
    """The oldest report, and the number of times that the service failed on it."""

    sequence: int
    since_s: float
    tries: int = 0


class Delivery:
    """`send` raises ServiceUnavailable or ServiceRefused. `fault` is the service's latest answer of failure."""

    def __init__(self, spool: Spool, send: Send, monotonic: Callable[[], float]) -> None:
        self._spool = spool
        self._send = send
        self._monotonic = monotonic
        self._stuck: Stuck | None = None
        self._held_at: float | None = None
        self._next_held_s = float("-inf")
        self._last_held = -1
        self.fault = ""

    def batch(self) -> Iterator[Receipt]:
        """Send waiting reports, oldest first, and yield each answer; in batches, so that a backlog does not block
        directives.

        Raises ServiceUnavailable; unsent reports stay.
        """
        until = self._monotonic() + BATCH_S
        for sequence in self._spool.waiting(BATCH_REPORTS):
            if self._monotonic() >= until:
                return
            try:
                receipt = self._deliver(sequence)
            except ServiceFailed as error:
                receipt = self._pass(sequence, error)
            if receipt is not None:
                yield receipt
        self._retry_held()

    def _deliver(self, sequence: int) -> Receipt | None:
        """None if there is nothing to send any more, or where it was refused for good."""
        content = self._spool.read(sequence)
        if content is None:
            return None
        try:
            receipt = self._send(content)
        except ServiceRefused as error:
            log.error("report %d was refused permanently and moved to spool/refused: %s", sequence, error)
            self._spool.refuse(sequence)
            return None
        self._spool.accepted(sequence)
        return receipt

    def _pass(self, sequence: int, error: ServiceFailed) -> Receipt:
        """Set a report aside that the service fails at, where it takes a later one. Raises `error` if not."""
        if self._stuck is None or self._stuck.sequence != sequence:
            self._stuck = Stuck(sequence, self._monotonic())
        self._stuck.tries += 1
        receipt = self._probed(self._stuck.tries) if self._patience_ended(self._stuck) else None
        if receipt is None:
            raise error
        self._spool.hold(sequence)
        self.fault = str(error)
        self._held_at = self._monotonic()
        self._next_held_s = max(self._next_held_s, self._held_at + HELD_S)
        log.error("report %d is moved to spool/held, and later ones are sent: %s", sequence, error)
        return receipt

    def _patience_ended(self, stuck: Stuck) -> bool:
        now = self._monotonic()
        if self._held_at is not None and now - self._held_at < HELD_S:
            return stuck.tries >= TRIES_OF_MORE
        return stuck.tries >= TRIES and now - stuck.since_s >= PATIENCE_S

    def _probed(self, tries: int) -> Receipt | None:
        """The answer to one later report, the newest and each of the others in turn; None if it is not taken.

        A service that is down as a whole takes none, and then no report is to blame.
        """
        later = self._spool.waiting()[1:]
        if not later:
            return None
        try:
            return self._deliver(later[-1] if tries % 2 else later[tries // 2 % len(later)])
        except ServiceUnavailable:
            return None

    def _retry_held(self) -> None:
        """Called when the service takes reports. Raises ServiceUnavailable if it does not any more."""
        if self._monotonic() < self._next_held_s:
            return
        self._next_held_s = self._monotonic() + HELD_S
        held = self._spool.held()
        for sequence in ([s for s in held if s > self._last_held] or held)[:HELD_AT_ONCE]:
            self._last_held = sequence
            try:
                self._deliver(sequence)
            except ServiceFailed as error:
                self.fault = str(error)
