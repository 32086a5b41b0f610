"""The registration of databases, and their policies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lutra_models.catalog import did_you_mean, engines, of_engine
from lutra_models.errors import InvalidConfiguration, NotEnoughObservations
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.access import audit
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.errors import Conflict, InvalidRequest
from lutra_service.common.documents import Document
from lutra_service.db.schema.policy import settings_policy
from lutra_service.db.schema.records import Database
from lutra_service.db.store import Store, UnitOfWork


def register(unit: UnitOfWork, name: str, engine: str, policy: Mapping[str, Any], label: str | None = None) -> Database:
    """Raises InvalidRequest for an engine without a catalogue, Conflict if the name is taken."""
    if engine not in engines():
        raise InvalidRequest(
            f"engine: {engine!r} is not one of {', '.join(engines())}{did_you_mean(engine, engines())}"
        )
    _check_policy(engine, policy)
    taken = unit.databases.named(name)
    if taken is not None:
        raise Conflict(f"{taken.id} already has the name {name!r}")
    database = Database(unit.new_id("db"), name, engine, dict(policy), unit.now, label=label)
    unit.databases.add(database)
    after = {"name": name, "engine": engine, "policy": database.policy, "label": label}
    audit.record(unit, "database.register", database.id, None, after, database_id=database.id)
    return database


def change_policy(unit: UnitOfWork, id_: str, patch: Mapping[str, Any]) -> Database:
    """Merge the named parts into the policy, if the live server can accept the result."""
    database = unit.databases.lock(id_)
    policy: Document = {**database.policy, **patch}
    _check_policy(database.engine, policy)
    unit.databases.change(id_, policy=policy)
    audit.record(unit, "database.policy", id_, {"policy": database.policy}, {"policy": policy}, database_id=id_)
    changed = unit.databases.get(id_)
    try:
        context = context_of(unit, changed)
    except NotEnoughObservations:
        return changed
    if not context.space.names:
        raise InvalidConfiguration(f"{id_}: no setting may move")
    return changed


def set_label(unit: UnitOfWork, id_: str, label: str | None) -> Database:
    """The databases to which it belongs; None: those without a label."""
    before = unit.databases.lock(id_)
    unit.databases.change(id_, label=label)
    audit.record(unit, "database.label", id_, {"label": before.label}, {"label": label}, database_id=id_)
    return unit.databases.get(id_)


def retire(unit: UnitOfWork, id_: str) -> Database:
    """Hide it, and accept no more reports from it; stored data are kept. Raises Conflict while a session is open or an
    agent has a change in hand.
    """
    before = unit.databases.lock(id_)
    session = unit.sessions.open_one(id_)
    if session is not None:
        raise Conflict(f"{session.id} is {session.state}: stop it first (POST /v1/sessions/{session.id}/stop)")
    for row in unit.recommendations.in_states(id_, (State.APPROVED, State.APPLIED)):
        raise Conflict(
            f"{row.id} is {row.state}, and its agent still has to answer: wait for it, or roll it back first"
        )
    return _retired(unit, before, unit.now)


def unretire(unit: UnitOfWork, id_: str) -> Database:
    """Accept its agent's reports again."""
    return _retired(unit, unit.databases.lock(id_), None)


def delete(store: Store, id_: str) -> Database:
    """Delete it with all that belongs to it; the audit trail is kept. Raises Conflict for one that is not retired."""
    before = store.read(lambda unit: _to_be_deleted(unit, id_))
    while store.write(lambda unit: unit.retention.delete_reports_of(id_)):
        pass
    store.write(lambda unit: _delete(unit, id_))
    return before


def _to_be_deleted(unit: UnitOfWork, id_: str) -> Database:
    database = unit.databases.get(id_)
    if database.retired_at is None:
        raise Conflict(f"{id_} is in use: retire it first (PUT /v1/databases/{id_}/retired)")
    return database


def _delete(unit: UnitOfWork, id_: str) -> None:
    unit.databases.lock(id_)
    database = _to_be_deleted(unit, id_)
    told = {"name": database.name, "engine": database.engine, "rows": unit.retention.delete_database(id_)}
    audit.record(unit, "database.delete", id_, told, None, database_id=id_)


def _retired(unit: UnitOfWork, before: Database, at: datetime | None) -> Database:
    if (before.retired_at is None) == (at is None):
        return before
    unit.databases.change(before.id, retired_at=at)
    told = [{"retired": row is not None} for row in (before.retired_at, at)]
    audit.record(unit, "database.retire" if at else "database.unretire", before.id, *told, database_id=before.id)
    return unit.databases.get(before.id)


def _check_policy(engine: str, policy: Mapping[str, Any]) -> None:
    known = {row.name for catalog in of_engine(engine) for row in catalog.rows}
    settings_policy(policy)
    named = {*policy.get("pins", {}), *policy.get("ranges", {}), *(policy.get("movable") or ())}
    unknown = sorted(named - known)
    if unknown:
        hints = ", ".join(f"{name}{did_you_mean(name, known)}" for name in unknown)
        raise InvalidConfiguration(f"settings that {engine}'s catalogue does not have: {hints}")
