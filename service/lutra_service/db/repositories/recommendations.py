"""Repository of recommendations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Unpack

from lutra_models.digest import fingerprint
from lutra_models.errors import Failure
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState, advance_recommendation, has_come
from lutra_models.lifecycle import RecommendationState as State
from sqlalchemy import and_, case, func, or_, select

from lutra_service.common.actor import SERVICE
from lutra_service.db.repositories.repository import Condition, Repository, RowMoved, pack, remembered, unpack
from lutra_service.db.schema.judged import Judged
from lutra_service.db.schema.outcome import ChangeOutcome
from lutra_service.db.schema.recommendation import Delivery, Parts, Recommendation
from lutra_service.db.schema.records import Snapshot, StoredRequest
from lutra_service.db.schema.tables import RecommendationRow, RequestRow, SnapshotRow
from lutra_service.db.schema.transitions import Declined, Transition

SHOWN_TO_DECIDE = ("before", "predictions", "reasons", "memory", "changes", "warnings")
SHOWN_BESIDE = ("curve", "shortened_from", "looked_at", "turned_down", "leaned")
OUTLINED = (*SHOWN_TO_DECIDE, *SHOWN_BESIDE)


JUDGED_AGAIN = timedelta(days=8)
"""The time after a change within which its gain is judged again."""
LOOKED_THROUGH = 10
"""The newest few active ones, without repeated measurements, which changed nothing."""


def digest_of(configuration: Mapping[str, Any]) -> str:
    """The same for configurations that are equal: 4096.0 is 4096."""
    whole = {n: int(v) if isinstance(v, float) and v.is_integer() else v for n, v in configuration.items()}
    return fingerprint(whole)


class Recommendations(Repository[Recommendation]):
    row = RecommendationRow
    record = Recommendation
    noun = "recommendation"
    reserve = 32 << 10

    def listed(
        self,
        database_id: str,
        limit: int,
        after: str | None,
        state: str | None = None,
        since: datetime | None = None,
    ) -> list[Recommendation]:
        """Newest first: those that were decided, made active or ended after `since`, or whose gain may have been
        judged again after it.
        """
        c = self.table.c
        where: list[Condition] = [c.database_id == database_id]
        if state is not None:
            where.append(c.state == state)
        if since is not None:
            gained = and_(c.gain.is_not(None), c.applied_at > since - JUDGED_AGAIN)
            where.append(or_(c.decided_at > since, c.applied_at > since, c.ended_at > since, gained))
        return self.page(*where, limit=limit, after=after, newest_first=True)

    def of_session(self, session_id: str) -> list[Recommendation]:
        return self._many(select(self.table).where(self.table.c.session_id == session_id).order_by(self.table.c.id))

    def outlined(self, session_id: str) -> list[Recommendation]:
        """The same, with nothing in what is only shown to people (OUTLINED): a session may have a thousand."""
        columns = [c for c in self.table.c if c.name not in OUTLINED]
        found = self._db.execute(
            select(*columns).where(self.table.c.session_id == session_id).order_by(self.table.c.id)
        )
        return [self._as_record({"before": {}, **row}) for row in found.mappings()]

    def named(self, ids: Sequence[str]) -> dict[str, Recommendation]:
        """Those of these ids, by id, without what is only shown to people (OUTLINED)."""
        columns = [c for c in self.table.c if c.name not in OUTLINED]
        found = self._db.execute(select(*columns).where(self.table.c.id.in_(ids)))
        return {row["id"]: self._as_record({"before": {}, **row}) for row in found.mappings()}

    def waiting(self, limit: int, only: str | None = None) -> list[Recommendation]:
        """Those that wait for a decision, of all databases or of the one: the oldest `limit`, in order."""
        c = self.table.c
        where = [c.state == State.PROPOSED, *([] if only is None else [c.database_id == only])]
        return self.page(*where, limit=limit)

    def of_kind(
        self, session_id: str, kinds: Sequence[str], states: Sequence[str] | None = None
    ) -> list[Recommendation]:
        """The recommendations of a session, in order."""
        c = self.table.c
        where = [c.session_id == session_id, c.kind.in_(kinds)]
        if states is not None:
            where.append(c.state.in_(states))
        return self._many(select(self.table).where(*where).order_by(c.id))

    def leaned(self, session_id: str) -> list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
        """For a session's measured recommendations with past workloads, in order: the prediction, the prediction
        without them, and the reading.
        """
        c = self.table.c
        where = (c.session_id == session_id, c.leaned.is_not(None), c.measured.is_not(None))
        found = self._db.execute(select(c.predictions, c.leaned, c.measured).where(*where).order_by(c.id))
        return [(told or {}, leaned["predictions"], measured) for told, leaned, measured in found]

    def last_ended(
        self, session_id: str, kinds: Sequence[str], since: datetime, made_since: datetime, count: int
    ) -> list[Recommendation]:
        """The last `count` that ended since then, in order."""
        c = self.table.c
        where = (c.session_id == session_id, c.kind.in_(kinds), c.ended_at >= since, c.created_at >= made_since)
        return self.page(*where, limit=count, newest_first=True)[::-1]

    def measured_under(self, database_id: str, configuration: Mapping[str, Any]) -> bool:
        """Whether one of exactly these settings was measured."""
        return bool(self.measured_alike(database_id, configuration, 1))

    def measured_alike(self, database_id: str, configuration: Mapping[str, Any], limit: int = 100) -> list[str]:
        """The newest that measured exactly these settings, in order."""
        c = self.table.c
        same = (c.database_id == database_id, c.digest == digest_of(dict(configuration)), c.measured.is_not(None))
        return list(self._db.execute(select(c.id).where(*same).order_by(c.id.desc()).limit(limit)).scalars())[::-1]

    def last_change(self, database_id: str) -> Recommendation | None:
        """The newest that is active and changed a setting."""
        return next(reversed(self.changes(database_id, LOOKED_THROUGH)), None)

    def changes(self, database_id: str, limit: int = 200) -> list[Recommendation]:
        """The newest that are active and changed a setting, in the order in which they became so."""
        c = self.table.c
        active = (c.database_id == database_id, c.state.in_((State.APPLIED, State.CONFIRMED)))
        newest = self.page(*active, c.applied_at.is_not(None), limit=limit, newest_first=True)
        return sorted((r for r in newest if r.changes), key=lambda r: r.applied_at or r.request.created_at)

    def gains_due(self, now: datetime, limit: int) -> list[str]:
        """The ids of those whose gain is to be judged again, the longest due first."""
        c = self.table.c
        due = select(c.id).where(c.look_at.is_not(None), c.look_at <= now).order_by(c.look_at, c.id).limit(limit)
        return list(self._db.execute(due).scalars())

    def gains(self, database_ids: Sequence[str], since: datetime) -> dict[str, dict[str, int]]:
        """The reported gains of changes made active after `since`: by database their number by state. A change
        that is no longer active counts as `unknown`.
        """
        c = self.table.c
        state = case((c.state.in_((State.APPLIED, State.CONFIRMED)), c.gain), else_="unknown")
        wanted = (c.gain.is_not(None), c.database_id.in_(database_ids), c.applied_at >= since)
        asked = select(c.database_id, state, func.count()).where(*wanted).group_by(c.database_id, state)
        found: dict[str, dict[str, int]] = {}
        for database, gain, count in self._db.execute(asked):
            found.setdefault(database, {})[gain] = int(count)
        return found

    def latest_gains(self, database_ids: Sequence[str]) -> dict[str, Judged]:
        """The newest active change of each database of which a gain was reported, by its judgement."""
        c = self.table.c
        active = (c.database_id.in_(database_ids), c.gain.is_not(None), c.state.in_((State.APPLIED, State.CONFIRMED)))
        place = func.row_number().over(partition_by=c.database_id, order_by=c.applied_at.desc()).label("place")
        ranked = select(c.id, place).where(*active).subquery()
        newest = select(ranked.c.id).where(ranked.c.place == 1)
        rows = self._db.execute(select(c.database_id, c.judgement).where(c.id.in_(newest)))
        return {database: Judged.from_dict(judgement) for database, judgement in rows}

    @remembered
    def in_states(self, database_id: str, states: Sequence[str]) -> list[Recommendation]:
        c = self.table.c
        return self._many(select(self.table).where(c.database_id == database_id, c.state.in_(states)).order_by(c.id))

    def measured(self, database_id: str, limit: int = 1000) -> list[Recommendation]:
        c = self.table.c
        return self.page(c.database_id == database_id, c.ended_at.is_not(None), limit=limit, newest_first=True)

    def on_server(self, database_id: str, limit: int = 50) -> list[Recommendation]:
        """The newest that an agent was given, or that somebody may make or has made active by hand."""
        c = self.table.c
        by_hand = or_(c.applied_at.is_not(None), c.state == State.APPROVED)
        reached = or_(c.handed_out_at.is_not(None), by_hand)
        return self.page(c.database_id == database_id, reached, limit=limit, newest_first=True)

    def add(self, record: Recommendation, by: str = SERVICE, declined: Declined | None = None) -> Recommendation:
        """`declined`: the reason why an operator's rollback undoes the changes of its parent."""
        super().add(record)
        self._news.facts.append(Transition(record, None, record.state, by, declined=declined))
        return record

    def step(
        self,
        row: Recommendation,
        to: RecommendationState,
        by: str,
        why: str = "",
        *,
        told: str = "",
        failure: Failure | None = None,
        declined: Declined | None = None,
        **parts: Unpack[Parts],
    ) -> None:
        """Lead it to state `to`: the only way in which its state changes. `parts` are written with it.

        Raises IllegalTransition if its state does not lead there, and RowMoved if its state has changed.
        """
        state, now = advance_recommendation(row.state, to), self._news.now
        if state == State.REVERTED:
            delivery = parts.get("delivery") or row.delivery or Delivery()
            outcome = delivery.outcome or ChangeOutcome.taken_back(now)
            parts["delivery"] = replace(delivery, outcome=outcome.undone_by(by))
        values: dict[str, Any] = {"state": state, "ended_at": now if has_come(state, False, "ended") else None, **parts}
        if failure is not None:
            values["failure"] = failure
        if not self.change(row.id, self.table.c.state == row.state, **values):
            raise RowMoved(f"{row.id} changed meanwhile; read it again")
        self._tell(Transition(row, row.state, state, by, why, told, failure, declined))

    def stay(
        self,
        row: Recommendation,
        by: str,
        why: str = "",
        *,
        failure: Failure | None = None,
        declined: Declined | None = None,
        **parts: Unpack[Parts],
    ) -> None:
        """Add an event to one that keeps its state: that it is withdrawn in its agent's hands, or who had it undone."""
        values: dict[str, Any] = {**parts} if failure is None else {"failure": failure, **parts}
        if values:
            self.change(row.id, **values)
        self._tell(Transition(row, row.state, row.state, by, why, failure=failure, declined=declined))

    def _tell(self, transition: Transition) -> None:
        self._news.note(transition.row.database_id, transition.row.session_id)
        self._news.facts.append(transition)

    def to_decide(self) -> dict[str, int]:
        """The number that wait for a decision, by database."""
        c = self.table.c
        asked = select(c.database_id, func.count()).where(c.state == State.PROPOSED).group_by(c.database_id)
        return {str(database): int(count) for database, count in self._db.execute(asked)}

    def overdue(self, now: datetime, applied_before: datetime, silent_since: datetime) -> list[Recommendation]:
        """Approvals past their expiry that no agent was given, those whose agent never answered, and applied ones whose
        measurement never came."""
        c = self.table.c
        unseen = and_(c.state.in_((State.PROPOSED, State.APPROVED)), c.expires_at < now, c.handed_out_at.is_(None))
        lapsed = or_(c.expires_at < silent_since, c.withdrawn_at < silent_since)
        unanswered = and_(c.state == State.APPROVED, c.handed_out_at < silent_since, lapsed)
        unmeasured = and_(c.state == State.APPLIED, c.applied_at < applied_before)
        return self._many(select(self.table).where(or_(unseen, unanswered, unmeasured)).order_by(c.id))

    @remembered
    def withdrawn(self, database_id: str) -> list[Recommendation]:
        """The recommendations that an agent had received when they were withdrawn."""
        c = self.table.c
        withdrawn = and_(c.database_id == database_id, c.withdrawn_at.is_not(None))
        return self._many(select(self.table).where(withdrawn).order_by(c.id))

    def turned_down(self, database_id: str, limit: int = 200) -> list[Recommendation]:
        """The declined ones: the newest, oldest first."""
        c = self.table.c
        newest = (
            select(self.table)
            .where(c.database_id == database_id, c.turned_down_at.is_not(None))
            .order_by(c.turned_down_at.desc())
            .limit(limit)
        )
        return self._many(newest)[::-1]

    def rollbacks_of(self, recommendation: Recommendation) -> list[Recommendation]:
        c = self.table.c
        of_it = (c.database_id == recommendation.database_id, c.kind == Kind.ROLLBACK, c.parent_id == recommendation.id)
        return self._many(select(self.table).where(*of_it).order_by(c.id))

    def _stored(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """With the columns that follow from others, by which rows are found."""
        stored = super()._stored(values)
        if "configuration" in stored:
            stored["digest"] = (configuration := stored["configuration"]) and digest_of(configuration)
        if "turned_down" in stored:
            stored["turned_down_at"] = (declined := stored["turned_down"]) and datetime.fromisoformat(declined["at"])
        return stored


class Requests(Repository[StoredRequest]):
    row = RequestRow
    record = StoredRequest
    noun = "stored request of recommendation"

    def find(self, id_: str) -> StoredRequest | None:
        found = self._one(self.table.c.recommendation_id == id_)
        return found and replace(found, payload=unpack(found.payload))

    def put(self, id_: str, payload: dict[str, Any]) -> None:
        """Replaces the computation's previous input."""
        self._update(self.table.c.recommendation_id == id_, payload=_packed(payload))

    def _values(self, record: StoredRequest) -> dict[str, Any]:
        return {**super()._values(record), "payload": _packed(record.payload)}

    def _database_of(self, record: StoredRequest) -> str:
        c = RecommendationRow.__table__.c
        found = self._db.execute(select(c.database_id).where(c.id == record.recommendation_id))
        return str(found.scalar_one())


def _packed(payload: dict[str, Any]) -> dict[str, Any]:
    """`past` stays readable: it says which snapshots are still needed."""
    return pack(payload, ("past",))


class Snapshots(Repository[Snapshot]):
    row = SnapshotRow
    record = Snapshot
    noun = "snapshot"

    def newest_ids(self, database_id: str, limit: int) -> list[str]:
        """The newest first."""
        c = self.table.c
        asked = select(c.id).where(c.database_id == database_id).order_by(c.id.desc()).limit(limit)
        return list(self._db.execute(asked).scalars())
