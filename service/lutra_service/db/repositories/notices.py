"""Repositories of receivers, and of the messages for them: those that wait, and the log."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, insert, or_, select

from lutra_service.db.repositories.repository import Repository, remembered
from lutra_service.db.schema.notices import Delivery, DeliveryKind, DeliveryState, Receiver
from lutra_service.db.schema.tables import DeliveryRow, ReceiverRow

OUTBOX = "deliveries"
"""The id of the outbox itself among the changes of a transaction."""


class Receivers(Repository[Receiver]):
    row = ReceiverRow
    record = Receiver
    noun = "receiver"

    @remembered
    def enabled(self) -> list[Receiver]:
        """Those that get notices."""
        return self._many(select(self.table).where(self.table.c.enabled).order_by(self.table.c.id))

    def named(self, name: str) -> Receiver | None:
        return self._one(self.table.c.name == name)

    def count(self) -> int:
        return int(self._db.execute(select(func.count()).select_from(self.table)).scalar_one())

    def free(self, now: datetime) -> list[Receiver]:
        """Those that may be sent something now, and to which no process sends."""
        return self._many(select(self.table).where(*self._is_free(now)).order_by(self.table.c.id))

    def claim(self, id_: str, owner: str, now: datetime, until: datetime) -> bool:
        """Whether the owner may send to it: then no other process does, until the lease ends."""
        return self._update(self.table.c.id == id_, *self._is_free(now), owner=owner, lease_until=until) == 1

    def release(self, id_: str, owner: str, retry_at: datetime | None) -> None:
        """End the owner's lease; nothing is sent before `retry_at`."""
        c = self.table.c
        self._update(c.id == id_, c.owner == owner, owner=None, lease_until=None, retry_at=retry_at)

    def take_summary(self, id_: str, due: datetime, now: datetime) -> bool:
        """Whether the weekly summary that is due since then is still to be written for it: true to one caller alone."""
        c = self.table.c
        before = or_(c.summary_at.is_(None), c.summary_at < due)
        return self._update(c.id == id_, c.enabled, before, summary_at=now) == 1

    def remove(self, id_: str) -> None:
        """Delete it; its messages are deleted before."""
        self._delete(self.table.c.id == id_)

    def _is_free(self, now: datetime) -> tuple[ColumnElement[bool], ...]:
        c = self.table.c
        unclaimed = or_(c.lease_until.is_(None), c.lease_until < now)
        return c.enabled, unclaimed, or_(c.retry_at.is_(None), c.retry_at <= now)


class Deliveries(Repository[Delivery]):
    row = DeliveryRow
    record = Delivery
    noun = "delivery"
    made = 0
    """The number of messages that this transaction has made, which gives them an order."""

    def add_all(self, deliveries: Sequence[Delivery]) -> None:
        if deliveries:
            self._forget()
            self._db.execute(insert(self.table), [self._values(each) for each in deliveries])
            self.made += len(deliveries)
            self._news.note(OUTBOX)

    def waiting(self, receiver_id: str, limit: int) -> list[Delivery]:
        """The oldest that wait, in the order in which they are sent."""
        c = self.table.c
        mine = select(self.table).where(c.receiver_id == receiver_id, c.state == "waiting")
        return self._many(mine.order_by(c.at, c.place, c.id).limit(limit))

    def waiting_kinds(self) -> dict[str, set[DeliveryKind]]:
        """The kinds of the messages that wait, by receiver."""
        c = self.table.c
        found: dict[str, set[DeliveryKind]] = {}
        for receiver, kind in self._db.execute(select(c.receiver_id, c.kind).where(c.state == "waiting").distinct()):
            found.setdefault(receiver, set()).add(kind)
        return found

    def sent_since(self, receiver_id: str, since: datetime) -> list[datetime]:
        """When the messages ended that were delivered after that moment, the oldest first."""
        c = self.table.c
        mine = (c.receiver_id == receiver_id, c.state == "delivered", c.ended_at > since)
        return list(self._db.execute(select(c.ended_at).where(*mine).order_by(c.ended_at)).scalars())

    def end(self, ids: Collection[str], state: DeliveryState, now: datetime, **values: Any) -> int:
        """End those of them that wait. Returns their number."""
        c = self.table.c
        ended = self._update(c.id.in_(ids), c.state == "waiting", state=state, ended_at=now, **values)
        self._news.note(*ids)
        return ended

    def end_all(self, receiver_id: str, now: datetime, error: str) -> None:
        """Nothing that waits for the receiver is sent any more."""
        c = self.table.c
        self._update(c.receiver_id == receiver_id, c.state == "waiting", state="failed", ended_at=now, error=error)

    def remove_all(self, receiver_id: str) -> None:
        """Delete the receiver's messages and its log."""
        self._delete(self.table.c.receiver_id == receiver_id)

    def listed(self, receiver_id: str, limit: int, after: str | None, state: str | None = None) -> list[Delivery]:
        """Newest first."""
        c = self.table.c
        where = [c.receiver_id == receiver_id, *([] if state is None else [c.state == state])]
        return self.page(*where, limit=limit, after=after, newest_first=True)

    def count_waiting(self) -> int:
        """The number of messages that wait for their delivery."""
        waiting = select(func.count()).where(self.table.c.state == "waiting")
        return int(self._db.execute(waiting).scalar_one())
