"""What happened on a database's server: its audit entry, its count and its line in the log, in one place."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from lutra_models.errors import printable
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.access import audit
from lutra_service.app.access.audit import Action
from lutra_service.common.documents import Document
from lutra_service.db.schema.outcome import ChangeOutcome
from lutra_service.db.schema.records import Recommendation
from lutra_service.db.store import UnitOfWork

log = logging.getLogger(__name__)

ACTIONS: Mapping[State, Action] = {
    State.APPLIED: "recommendation.apply",
    State.CONFIRMED: "recommendation.confirm",
    State.REVERTED: "recommendation.revert",
    State.REFUSED: "recommendation.refuse",
    State.FAILED: "recommendation.fail",
}
BY_HAND = "somebody at the server"
ON_HOST = "an operator on the host"


def agent(name: str) -> str:
    """An agent, as whoever did something."""
    return f"agent {name}"


def guard(name: str) -> str:
    return f"guard {name}"


def step(unit: UnitOfWork, row: Recommendation, to: State, by: str, why: str = "", **values: Any) -> None:
    """Lead a change to the state `to`, which `by` brought about. `values` are columns that change with the state.

    Nothing is told of a recommendation that changes no setting.
    """
    if to == State.REVERTED:
        values["outcome"] = (values.get("outcome") or row.outcome or ChangeOutcome.taken_back(unit.now)).undone_by(by)
    unit.recommendations.step(row, to, **values)
    moves = audit.moved(row, back=to == State.REVERTED)
    if not moves:
        return
    told = {"state": to, "changes": moves, **({"why": why} if why else {})}
    audit.record(unit, ACTIONS[to], row.id, {"state": row.state}, told, database_id=row.database_id, by=by)
    words = f"{row.id}: {to} by {by}: {audit.in_words(moves)}" + (f": {why}" if why else "")
    _log(unit, row.database_id, words, to not in (State.APPLIED, State.CONFIRMED), recommendation=row.id, changes=moves)
    unit.databases.count(row.database_id, to)


def fired(
    unit: UnitOfWork, database_id: str, event: str, name: str, told: Document, undone: Recommendation | None
) -> None:
    """A guard fired; `undone` is the change that its agent takes back for it."""
    moves = {} if undone is None else audit.moved(undone, back=True)
    taken_back = {} if undone is None else {"recommendation": undone.id, "changes": moves}
    _record(unit, database_id, "guard.fire", event, {**told, **taken_back}, guard(name))
    words = f"the guard fired: {told['message']}" + (f"; it undoes {audit.in_words(moves)}" if moves else "")
    _log(unit, database_id, words, warn=True, guard=name, **taken_back)
    unit.databases.count(database_id, guard(name))


def rolled_back_on_host(unit: UnitOfWork, database_id: str, told: Document, why: str) -> None:
    """An operator restored settings with the agent's command there, whoever had changed them."""
    _record(unit, database_id, "host.rollback", database_id, told, ON_HOST)
    _log(unit, database_id, why, warn=True)


def _record(unit: UnitOfWork, database_id: str, action: Action, target: str, told: Document, by: str) -> None:
    """Agents may report as many of these as they like: each counts against the database's quota."""
    audit.record(unit, action, target, None, told, database_id=database_id, by=by)
    unit.ledger.add(database_id, told)


def _log(unit: UnitOfWork, database_id: str, words: str, warn: bool, **fields: Any) -> None:
    """The database's name and the values are text from outside."""
    name = unit.databases.get(database_id).name
    level = logging.WARNING if warn else logging.INFO
    log.log(level, "%s", printable(f"{name}: {words}"), extra={"fields": {"database": database_id, **fields}})
