"""What is known of a database right now: the catalogue met with its live server, and what the operator allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lutra_models import serial
from lutra_models.catalog import Catalog, load
from lutra_models.errors import InvalidConfiguration, NotEnoughObservations
from lutra_models.history import Mode, weaker
from lutra_models.knobs import Configuration, KnobSpace, Value
from lutra_models.maintenance import MaintenanceWindow, closed
from lutra_models.server import Host, Policy, Server

from lutra_service.app.rules import rules_of
from lutra_service.app.sharing import settings_policy
from lutra_service.db.records import Database, Session
from lutra_service.db.store import Unit


@dataclass(frozen=True)
class Live:
    """A live server. `active` holds every catalogue setting that it has; `space` the ones that may move.

    `waits` says why a restart has to wait, None where it need not.
    """

    database: Database
    catalog: Catalog
    server: Server
    policy: Policy
    active: Configuration
    mode: Mode
    windows: tuple[MaintenanceWindow, ...] = ()
    waits: str | None = None

    @cached_property
    def space(self) -> KnobSpace:
        """What the search may move. Raises InvalidConfiguration where nothing is left to move."""
        return self.catalog.space(self.server, self.policy, self.active)

    def space_with(self, names: Iterable[str]) -> KnobSpace:
        """The space and what an operator names besides: settings that are not searched unless somebody asks."""
        movable = frozenset(self.space.names).union(names)
        return self.catalog.space(self.server, replace(self.policy, movable=movable), self.active)

    def parse(self, settings: Mapping[str, Any]) -> dict[str, Value]:
        """Texts with units or plain values, as the server's own numbers. Raises InvalidConfiguration."""
        for name, value in settings.items():
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                raise InvalidConfiguration(f"{name}: {value!r} is neither a number nor a text")
        return {name: self.catalog.parse(self.server, name, value) for name, value in settings.items()}


def server_of(unit: Unit, database: Database) -> Server:
    """The server as its agent last reported it. Raises NotEnoughObservations before the first report."""
    settings = unit.databases.settings(database.id, database.settings_hash)
    if settings is None or database.host is None or database.engine_version is None:
        raise NotEnoughObservations(f"{database.id}: no agent has reported its settings yet")
    return Server(
        database.engine,
        database.engine_version,
        load(database.engine).readable(serial.settings_from_dict(settings)).settings,
        Host(**database.host),
        "standby" if database.role == "standby" else "primary",
        database.peak_connections,
        database.identifier or "",
    )


def live(unit: Unit, database: Database, session: Session | None = None) -> Live:
    """Raises NotEnoughObservations before the first report."""
    server = server_of(unit, database)
    catalog = load(database.engine)
    mode = effective_mode(database, session)
    policy = settings_policy(database.policy)
    windows = rules_of(database).maintenance_windows
    if mode == "reload_only" or (mode == "restart_in_window" and not windows):
        policy = replace(policy, restart=False)
    waits = closed(windows, unit.now) if mode == "restart_in_window" else None
    return Live(database, catalog, server, policy, catalog.read(server), mode, windows, waits)


def agent_mode(database: Database) -> Mode:
    """The most that the agent will ever do; observe before it has said so."""
    mode: Mode = (database.agent_status or {}).get("mode", "observe")
    return mode


def effective_mode(database: Database, session: Session | None) -> Mode:
    """The session asks, the agent's own file bounds; the weaker counts."""
    asked: Mode | None = session.mode if session else None  # type: ignore[assignment]
    return agent_mode(database) if asked is None else weaker(asked, agent_mode(database))
