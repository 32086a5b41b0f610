"""Settings that somebody changed outside Lutra."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lutra_models.catalog import meet
from lutra_models.errors import LutraError
from lutra_models.knobs import Value

from lutra_service.app.access import audit
from lutra_service.app.databases.current_server import effective_mode, server_of
from lutra_service.app.tuning.steps.facts import SettingsChanged
from lutra_service.db.store import UnitOfWork


def record(unit: UnitOfWork, changed: SettingsChanged) -> None:
    """Record the differences with the source that the server names, unless Lutra made one of them: the server may
    derive further settings from that.

    In a lab every trial changes settings.
    """
    database = changed.database
    if effective_mode(database, unit.sessions.open_one(database.id)) == "lab":
        return
    try:
        former = meet(server_of(unit, replace(database, settings_hash=changed.former)))
        now = meet(server_of(unit, database))
    except LutraError:
        return  # a server of which not enough can be read
    new = {n: v for n, v in now.values.items() if n in former.values and former.values[n] != v}
    if not new or _is_lutras(unit, database.id, new):
        return
    moves = {n: [former.text(n, former.values[n]), now.text(n, v)] for n, v in new.items()}
    details = {"changes": moves, "sources": {n: now.server.settings[n].source for n in new}}
    audit.drifted(unit, database.id, details)


def _is_lutras(unit: UnitOfWork, database_id: str, new: Mapping[str, Value]) -> bool:
    """Whether a recommendation set one of these values, or its undo did."""
    changes = [c for row in unit.recommendations.on_server(database_id) for c in row.changes]
    return any(c["setting"] in new and new[c["setting"]] in (c["after"], c["before"]) for c in changes)
