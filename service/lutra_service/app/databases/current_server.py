"""The current server, as its agent last reported it, with the limits of its operator and its agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lutra_models import serial
from lutra_models.catalog import LiveSettings, meet
from lutra_models.catalog.readable import readable
from lutra_models.errors import InvalidConfiguration, NotEnoughObservations
from lutra_models.history import Mode, weaker
from lutra_models.knobs import Configuration, KnobSpace, Refusal, Value
from lutra_models.maintenance import MaintenanceWindow, closed
from lutra_models.server import Host, Policy, Server

from lutra_service.app.errors import Conflict
from lutra_service.db.schema.records import Database, Session
from lutra_service.db.store import UnitOfWork


def server_of(unit: UnitOfWork, database: Database) -> Server:
    """The server as its agent last reported it. Raises NotEnoughObservations before the first report."""
    settings = unit.databases.settings(database.id, database.settings_hash)
    if settings is None or database.host is None or database.engine_version is None:
        raise NotEnoughObservations(f"{database.id}: no agent has reported its settings yet")
    return Server(
        database.engine,
        database.engine_version,
        readable(database.engine, serial.settings_from_dict(settings)).settings,
        Host(**database.host),
        "standby" if database.role == "standby" else "primary",
        database.peak_connections,
        database.identifier or "",
    )


def context_of(unit: UnitOfWork, database: Database, session: Session | None = None) -> ServerContext:
    """Raises NotEnoughObservations before the first report."""
    live = meet(server_of(unit, database))
    mode = effective_mode(database, session)
    policy = database.settings_policy
    windows = database.rules.maintenance_windows
    if mode == "reload_only" or (mode == "restart_in_window" and not windows):
        policy = replace(policy, restart=False)
    waits = closed(windows, unit.now) if mode == "restart_in_window" else None
    known = () if session is None or session.baseline is None else (session.baseline,)
    return ServerContext(database, live, policy, mode, windows, waits, known)


def effective_mode(database: Database, session: Session | None) -> Mode:
    """The weaker of the session's mode and the mode of the agent's own file."""
    return database.agent.mode if session is None else weaker(session.mode, database.agent.mode)


def identity_change(session: Session, database: Database) -> str | None:
    """The differences from the beginning of the session, in words."""
    wanted, now = session.identity, database.identity
    if wanted is None or now is None:
        return None
    return "; ".join(wanted.differences(now)) or None


def rebased(unit: UnitOfWork, database: Database, session: Session) -> dict[str, Any]:
    """The fields to reset in a session whose server was replaced: baseline, identity, and the time of the replacement.

    Raises Conflict while that server is not a primary.
    """
    changed = identity_change(session, database)
    if changed is None:
        return {}
    if database.role == "standby":
        raise Conflict(f"{database.id} is a standby: {changed}; {session.id} continues once it is a primary again")
    return {"baseline": None, "identity": None, "rebased_at": unit.now}


@dataclass(frozen=True)
class ServerContext:
    """A database's settings as they are `live`, and what its `policy` and `mode` allow.

    `waits` is the reason why a restart has to wait, None if it does not. `known` are settings under which the server
    ran, in addition to the current ones: those at its session's start.
    """

    database: Database
    live: LiveSettings
    policy: Policy
    mode: Mode
    windows: tuple[MaintenanceWindow, ...] = ()
    waits: str | None = None
    known: tuple[Mapping[str, Value], ...] = ()

    @property
    def server(self) -> Server:
        return self.live.server

    @property
    def active(self) -> Configuration:
        """Every setting of the catalogue that the server has."""
        return self.live.values

    @cached_property
    def space(self) -> KnobSpace:
        """The settings that the search may move. Raises InvalidConfiguration if none is left."""
        return self.live.space(self.policy, known=self.known)

    def space_for(self, names: Iterable[str]) -> KnobSpace:
        """The space, with settings of `names` that are searched only if evidence recommends them, as far as they may
        move.

        If an operator names the movable settings, no others are added.
        """
        if self.policy.movable is not None:
            return self.space
        rows = (self.live.rows[n] for n in names if n in self.live.rows and n in self.live.values)
        safe = {r.name for r in rows if self.policy.admits(r.risk)}
        if safe <= set(self.space.names):
            return self.space
        return self.live.space(replace(self.policy, movable=frozenset({*self.space.names, *safe})))

    def space_with(self, names: Iterable[str]) -> KnobSpace:
        """The space with further settings that an operator names and that are not searched by default."""
        movable = frozenset(self.space.names).union(names)
        return self.live.space(replace(self.policy, movable=movable), known=self.known)

    def memory_refusal(self, configuration: Mapping[str, Value]) -> Refusal | None:
        """The reason why the memory does not allow these settings over the current ones; None if it does."""
        return self.live.memory_refusal(self.policy, configuration, self.known)

    def parse(self, settings: Mapping[str, Any]) -> dict[str, Value]:
        """Texts with units or plain values, as the server's own numbers. Raises InvalidConfiguration."""
        for name, value in settings.items():
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                raise InvalidConfiguration(f"{name}: {value!r} is neither a number nor a text")
        return {name: self.live.parse(name, value) for name, value in settings.items()}
