"""The use of judgements at comparable load: for the model, for the session, and for the time of the next one."""

from __future__ import annotations

from collections.abc import Sequence

from lutra_models.evidence import Change, Compared
from lutra_models.lifecycle import RecommendationKind as Kind

from lutra_service.db.schema.judged import Judged
from lutra_service.db.schema.recommendation import Recommendation, net_changes
from lutra_service.db.schema.records import Database, Session
from lutra_service.db.store import UnitOfWork

COMPUTED = (Kind.SEARCH, Kind.HANDOVER)


def unanswered_loss(unit: UnitOfWork, database: Database, session: Session) -> bool:
    """Whether the last change is judged a loss, and its session has computed nothing since that was known."""
    row = unit.recommendations.last_change(database.id)
    judgement = None if row is None else row.judgement
    if judgement is None or judgement.lost_at is None:
        return False
    lost_at = judgement.lost_at
    asked = (r.request.created_at for r in unit.recommendations.outlined(session.id) if r.kind in COMPUTED)
    return all(at < lost_at for at in asked)


def gained(row: Recommendation) -> bool:
    """Whether its change is judged better, by itself or with the changes of its session before it."""
    return row.judgement is not None and row.judgement.is_gain


def compared(unit: UnitOfWork, database: Database, session: Session) -> tuple[Compared, ...]:
    """The effect of the last change, and of all the session's changes together, as far as its objective judges it."""
    row = unit.recommendations.last_change(database.id)
    if row is None or row.judgement is None or row.judgement.found.metric != session.judged.metric:
        return ()
    told = [_compared(net_changes([row]), row.judgement)]
    together = row.judgement.together
    if together is not None and row.session_id == session.id:
        told.append(_compared(net_changes(changes_of(unit, session)), together))
    return tuple(told)


def sentence_of(unit: UnitOfWork, database_id: str, session: Session) -> str:
    """The session's sentence about its last change, and about all of them together; empty if there is none."""
    row = unit.recommendations.last_change(database_id)
    if row is None or row.session_id != session.id or row.judgement is None:
        return ""
    together = row.judgement.together
    parts = [f"{row.id}: {row.judgement.sentence}.", row.judgement.follows]
    parts += [f"All changes of this session together: {together.sentence}."] if together else []
    return " ".join(part for part in parts if part)


def changes_of(unit: UnitOfWork, session: Session) -> list[Recommendation]:
    """The session's changes that are active, in the order in which they became so."""
    rows = unit.recommendations.of_kind(session.id, list(Kind))
    made = [r for r in rows if session.is_about(r) and r.is_active and r.kind != Kind.ROLLBACK]
    made = [r for r in made if r.changes and r.applied_at is not None]
    return sorted(made, key=lambda r: r.applied_at or r.request.created_at)


def _compared(changes: Sequence[Change], judged: Judged) -> Compared:
    return Compared(tuple(changes), judged.found.verdict, f"{judged.sentence}.", judged.found.ratio)
