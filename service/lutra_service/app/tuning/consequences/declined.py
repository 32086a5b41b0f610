"""Changes of a database's recommendations that operators or guards declined; with the circumstances."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from lutra_models.errors import LutraError
from lutra_models.evidence import Basis, Change, TurnedDown

from lutra_service.app.databases.current_server import context_of
from lutra_service.app.databases.symptoms import evidence_of
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Database
from lutra_service.db.schema.transitions import Declined
from lutra_service.db.store import UnitOfWork

LONGEST = 1000


def remember(unit: UnitOfWork, row: Recommendation, declined: Declined) -> None:
    """Record that changes of `row` were declined. A lab has no operator whose decisions count.

    The first time counts: a rolled-back change is not stored again when its agent reports the rollback.
    """
    how, reason, names = declined.how, declined.reason, declined.names
    recommendation = unit.recommendations.get(row.id)
    decision = recommendation.decision
    if decision is None or decision.turned_down is not None:
        return
    if reason:
        decision = replace(decision, reason=reason[:LONGEST])
    database = unit.databases.get(row.database_id)
    transition = [c for c in recommendation.changes if names is None or c["setting"] in names]
    basis = (
        _basis(unit, database, recommendation, [c["setting"] for c in transition])
        if transition and database.agent.mode != "lab"
        else None
    )
    if basis is not None:
        changes = tuple(Change(c["setting"], c["before"], c["after"]) for c in transition)
        one = TurnedDown(changes, how, unit.now, basis, (reason or "")[:LONGEST])
        decision = replace(decision, turned_down=one)
    if decision != recommendation.decision:
        unit.recommendations.change(row.id, decision=decision)


def _basis(unit: UnitOfWork, database: Database, row: Recommendation, settings: Collection[str]) -> Basis | None:
    """What an answer about these settings depends on; None if the server cannot be read.

    What was active may have cured its faults: theirs are the settings and the windows from before it was.
    """
    try:
        earlier = () if row.applied_at is None else unit.reports.windows(database.id, 1, until=row.applied_at)
        for report in earlier:
            database = replace(database, settings_hash=report.settings_hash)
        return evidence_of(unit, context_of(unit, database), None, row.applied_at).basis(settings)
    except LutraError:
        return None
