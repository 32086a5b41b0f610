"""`lutra-agent rollback`: restores a snapshot of this disk, with the service away and with the database up or down."""

from __future__ import annotations

from collections.abc import Iterator

from lutra_agent.changes.outcomes import Outcomes
from lutra_agent.changes.restore import differences, restore
from lutra_agent.changes.vetted_snapshot import vet
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import Config
from lutra_agent.errors import ApplyRefused, ConfigError
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.state.change_events import RolledBack
from lutra_agent.state.snapshot import Snapshot, stored_snapshot

WHY = "rolled back on its host"


def roll_back(config: Config, target: str, restart: bool) -> Iterator[str]:
    """Yields what it does, in words. Raises ConfigError, ApplyRefused, DidNotStart and DatabaseUnavailable."""
    database = local_database(config, SystemClock())
    snapshot = stored_snapshot(database.state, target)
    if snapshot is None:
        raise ConfigError(f"no {target.replace('_', '-')} is kept in {config.agent.state_dir}")
    running = not database.state.lock()
    if running and database.changes.load().in_hand is not None:
        raise ApplyRefused("paused", "the running agent is carrying out a change just now; try again in a moment")
    database.state.pause()
    try:
        yield from _restore(database, snapshot, restart)
    finally:
        database.engine.health.close()
        database.state.unlock()
    yield "the agent is paused; `lutra-agent resume` lets it take directives again"


def _restore(database: LocalDatabase, snapshot: Snapshot, restart: bool) -> Iterator[str]:
    control = database.control.for_operator()
    if database.state.is_anothers:
        yield "the state folder is another account's: its settings are restored, and no other line of the settings file"
        snapshot = vet(database.engine.own, snapshot, database.config.restart.data_dir)
    if not control.up():
        yield "the database is down: restoring its settings file and starting it"
        restore(database.engine, control, snapshot, [], restart=False)
        yield "the database is up"
        _close_records(database)
        return
    server = database.read_server()
    names = differences(server, snapshot)
    if not names:
        yield "nothing differs"
        _close_records(database)
        return
    waiting = [n for n in names if server.settings[n].applies == "restart"]
    restarting = bool(waiting) and restart and control.may_restart
    for name in names:
        yield f"{name}: {server.settings[name].value} → {snapshot.active[name]} {server.settings[name].unit}".rstrip()
    restore(database.engine, control, snapshot, names, restarting)
    _close_records(database)
    if waiting and not restarting:
        yield f"active after the next restart: {', '.join(waiting)}"


def _close_records(database: LocalDatabase) -> None:
    """Nothing is half done or under watch any more; each change that was is reported as reverted."""
    outcomes, changes = Outcomes(SystemClock(), database.read_server), database.changes.load()
    alive = [c for c in (changes.watched, changes.in_hand) if c is not None]
    made = tuple(outcomes.make(c.directive, "reverted", message=WHY, names=c.names) for c in alive)
    database.changes.write(RolledBack(made))
