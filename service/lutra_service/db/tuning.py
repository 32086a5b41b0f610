"""Repositories of sessions, recommendations, their requests and snapshots."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from lutra_models.knobs import fingerprint
from sqlalchemy import ColumnElement, and_, exists, false, func, or_, select

from lutra_service.db.packed import pack, unpack
from lutra_service.db.records import Database, Recommendation, Request, Session, Snapshot, Waiting
from lutra_service.db.repository import Condition, Repository, remembered
from lutra_service.db.tables import (
    DatabaseRow,
    RecommendationRow,
    RequestRow,
    SessionRow,
    SnapshotRow,
)

EVERY_PAST, SAME_LABEL, NO_PAST = "all", "label", "none"
"""The policy `past`: whose models a database leans on, and who may lean on its own; those without a label share one."""
PAST_READINGS = 3

OUTLINED = ("before", "predictions", "reasons", "memory", "changes", "warnings")


def digest_of(configuration: Mapping[str, Any]) -> str:
    """The same for configurations that are equal: 4096.0 is 4096."""
    whole = {n: int(v) if isinstance(v, float) and v.is_integer() else v for n, v in configuration.items()}
    return fingerprint(whole)


def _with_digest(values: dict[str, Any]) -> dict[str, Any]:
    configuration = values.get("configuration")
    return values if configuration is None else {**values, "digest": digest_of(configuration)}


class Sessions(Repository[Session]):
    row = SessionRow
    record = Session
    noun = "session"

    @remembered
    def open_one(self, database_id: str) -> Session | None:
        return self._one(self.table.c.database_id == database_id, self.table.c.state.in_(("running", "paused")))

    def listed(self, database_id: str, limit: int, after: str | None) -> list[Session]:
        return self.page(self.table.c.database_id == database_id, limit=limit, after=after, newest_first=True)

    def step(self, session: Session, to: str, **values: Any) -> bool:
        """`session` in state `to`, where it is still in the state that it was read in."""
        return self.change(session.id, self.table.c.state == session.state, state=to, **values)

    def bind_p99(self, id_: str, source: str, of: str) -> bool:
        return self.change(id_, self.table.c.p99_source.is_(None), p99_source=source, p99_of=of)


class Recommendations(Repository[Recommendation]):
    row = RecommendationRow
    record = Recommendation
    noun = "recommendation"
    reserve = 32 << 10

    def _values(self, record: Recommendation) -> dict[str, Any]:
        return _with_digest(super()._values(record))

    def change(self, id_: str, *conditions: Condition, **values: Any) -> bool:
        return super().change(id_, *conditions, **_with_digest(values))

    def by_key(self, database_id: str, key: str) -> Recommendation | None:
        return self._one(self.table.c.database_id == database_id, self.table.c.key == key)

    def listed(self, database_id: str, limit: int, after: str | None, state: str | None = None) -> list[Recommendation]:
        where = [self.table.c.database_id == database_id]
        if state is not None:
            where.append(self.table.c.state == state)
        return self.page(*where, limit=limit, after=after, newest_first=True)

    def of_session(self, session_id: str) -> list[Recommendation]:
        return self._many(select(self.table).where(self.table.c.session_id == session_id).order_by(self.table.c.id))

    def outlined(self, session_id: str) -> list[Recommendation]:
        """The same without what is only shown to people (OUTLINED): a session may have a thousand."""
        columns = [c for c in self.table.c if c.name not in OUTLINED]
        found = self._db.execute(
            select(*columns).where(self.table.c.session_id == session_id).order_by(self.table.c.id)
        )
        return [Recommendation(before={}, **row) for row in found.mappings()]

    def of_kind(
        self, session_id: str, kinds: Sequence[str], states: Sequence[str] | None = None
    ) -> list[Recommendation]:
        """Those of a session's recommendations, in order."""
        c = self.table.c
        where = [c.session_id == session_id, c.kind.in_(kinds)]
        if states is not None:
            where.append(c.state.in_(states))
        return self._many(select(self.table).where(*where).order_by(c.id))

    def last_ended(
        self, session_id: str, kind: str, since: datetime, made_since: datetime, count: int
    ) -> list[Recommendation]:
        """The last `count` that ended since then, in order."""
        c = self.table.c
        where = (c.session_id == session_id, c.kind == kind, c.ended_at >= since, c.created_at >= made_since)
        return self.page(*where, limit=count, newest_first=True)[::-1]

    def measured_under(self, database_id: str, configuration: Mapping[str, Any]) -> bool:
        """Whether one of exactly these settings was measured. Rows without a digest are older, and looked through."""
        c = self.table.c
        wanted = dict(configuration)
        old = and_(c.digest.is_(None), c.configuration.is_not(None))
        for same in (c.digest == digest_of(wanted), old):
            asked = select(c.configuration).where(c.database_id == database_id, same, c.measured.is_not(None))
            if any(found == wanted for found in self._db.execute(asked.order_by(c.id.desc()).limit(1000)).scalars()):
                return True
        return False

    @remembered
    def in_states(self, database_id: str, states: Sequence[str]) -> list[Recommendation]:
        c = self.table.c
        return self._many(select(self.table).where(c.database_id == database_id, c.state.in_(states)).order_by(c.id))

    def measured(self, database_id: str, limit: int = 1000) -> list[Recommendation]:
        c = self.table.c
        return self.page(c.database_id == database_id, c.ended_at.is_not(None), limit=limit, newest_first=True)

    def step(self, recommendation: Recommendation, to: str, **values: Any) -> bool:
        """In state `to`, where it is still in the state that it was read in."""
        return self.change(recommendation.id, self.table.c.state == recommendation.state, state=to, **values)

    def waiting(self, now: datetime, busy: Collection[str]) -> list[Waiting]:
        """Of each database the computation that waits for the longest time, in the order of asking.

        Databases that are `busy`, or have a computation that somebody holds, have none.
        """
        c, held = self.table.c, self.table.alias().c
        leased = exists().where(held.database_id == c.database_id, held.state == "computing", held.lease_until >= now)
        first = func.min(c.id)
        found = (
            select(first.label("recommendation_id"), c.database_id)
            .where(c.state == "computing", ~leased, c.database_id.not_in(busy))
            .group_by(c.database_id)
            .order_by(first)
        )
        return [Waiting(**row) for row in self._db.execute(found).mappings()]

    def claim(self, id_: str, now: datetime, until: datetime) -> bool:
        c = self.table.c
        free = or_(c.lease_until.is_(None), c.lease_until < now)
        return self.change(id_, c.state == "computing", free, lease_until=until)

    def computing(self, ids: Sequence[str]) -> set[str]:
        """Those of `ids` whose answer is still waited for."""
        c = self.table.c
        return set(self._db.execute(select(c.id).where(c.id.in_(ids), c.state == "computing")).scalars())

    def renew(self, ids: Sequence[str], until: datetime) -> int:
        """One that was released meanwhile stays so."""
        c = self.table.c
        held = and_(c.id.in_(ids), c.state == "computing", c.lease_until.is_not(None))
        return self._update(held, lease_until=until) if ids else 0

    def release(self, id_: str) -> bool:
        return self.change(id_, self.table.c.state == "computing", lease_until=None)

    def overdue(self, now: datetime, applied_before: datetime, silent_since: datetime) -> list[Recommendation]:
        """Approvals past their expiry that no agent was given, those whose agent never answered, and applied ones whose
        measurement never came."""
        c = self.table.c
        unseen = and_(c.state.in_(("proposed", "approved")), c.expires_at < now, c.handed_out_at.is_(None))
        lapsed = or_(c.expires_at < silent_since, c.withdrawn_at < silent_since)
        unanswered = and_(c.state == "approved", c.handed_out_at < silent_since, lapsed)
        unmeasured = and_(c.state == "applied", c.applied_at < applied_before)
        return self._many(select(self.table).where(or_(unseen, unanswered, unmeasured)).order_by(c.id))

    @remembered
    def withdrawn(self, database_id: str) -> list[Recommendation]:
        """Those that an agent had been given when they were withdrawn."""
        c = self.table.c
        withdrawn = and_(c.database_id == database_id, c.withdrawn_at.is_not(None))
        return self._many(select(self.table).where(withdrawn).order_by(c.id))

    def rollbacks_of(self, recommendation: Recommendation) -> list[Recommendation]:
        c = self.table.c
        of_it = (c.database_id == recommendation.database_id, c.kind == "rollback", c.parent_id == recommendation.id)
        return self._many(select(self.table).where(*of_it).order_by(c.id))


class Requests(Repository[Request]):
    row = RequestRow
    record = Request
    noun = "stored request of recommendation"

    def find(self, id_: str) -> Request | None:
        found = self._one(self.table.c.recommendation_id == id_)
        return found and replace(found, payload=unpack(found.payload))

    def _values(self, record: Request) -> dict[str, Any]:
        # `past` stays readable: it says which snapshots are still needed.
        return {**super()._values(record), "payload": pack(record.payload, ("past",))}

    def _database_of(self, record: Request) -> str:
        c = RecommendationRow.__table__.c
        found = self._db.execute(select(c.database_id).where(c.id == record.recommendation_id))
        return str(found.scalar_one())


class Snapshots(Repository[Snapshot]):
    row = SnapshotRow
    record = Snapshot
    noun = "snapshot"

    def of_others(self, session_id: str, database: Database, limit: int) -> list[str]:
        """Ids of models that other sessions on this engine left, the latest first.

        Of the database itself each session's last one. Of another database, where the policies of both allow it, only
        the last one, and only of a session with enough confirmed readings: no database can push the others out.
        """
        c = self.table.c
        own = select(func.max(c.id)).where(c.database_id == database.id, c.session_id != session_id)
        others = (
            select(func.max(c.id))
            .join(DatabaseRow, DatabaseRow.id == c.database_id)
            .where(DatabaseRow.id != database.id, DatabaseRow.engine == database.engine)
            .where(_shared_with(database), c.session_id.in_(_measured_sessions()))
        )
        asked = own.group_by(c.session_id).union(others.group_by(c.database_id))
        return sorted(self._db.execute(asked).scalars(), reverse=True)[:limit]

    def newest_ids(self, database_id: str, limit: int) -> list[str]:
        """The newest first."""
        c = self.table.c
        asked = select(c.id).where(c.database_id == database_id).order_by(c.id.desc()).limit(limit)
        return list(self._db.execute(asked).scalars())


def _measured_sessions() -> Any:
    """Sessions that have enough confirmed readings for others to learn from."""
    c = RecommendationRow.__table__.c
    measured = select(c.session_id).where(c.state == "confirmed", c.measured.is_not(None))
    return measured.group_by(c.session_id).having(func.count() >= PAST_READINGS)


def _shared_with(database: Database) -> ColumnElement[bool]:
    """Which other databases share with `database` what was learned: the stricter of the two policies counts."""
    own = database.policy.get("past", SAME_LABEL)
    if own == NO_PAST:
        return false()
    theirs = func.coalesce(DatabaseRow.policy["past"].as_string(), SAME_LABEL)
    alike = and_(DatabaseRow.label.is_not_distinct_from(database.label), theirs != NO_PAST)
    return alike if own == SAME_LABEL else or_(theirs == EVERY_PAST, alike)
