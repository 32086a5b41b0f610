"""`lutra-agent rollback`: restores a snapshot of this disk, with the service away and with the database up or down."""

from __future__ import annotations

from collections.abc import Iterator

from lutra_models.server import SERVER

from lutra_agent.changes.outcomes import Outcomes
from lutra_agent.changes.restore import restore
from lutra_agent.changes.snapshots import differences
from lutra_agent.changes.vetted_snapshot import vetted
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import Config
from lutra_agent.control.server import ServerControl
from lutra_agent.errors import ApplyRefused, ConfigError
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.state.change_events import RolledBack
from lutra_agent.state.snapshot import Snapshots, active_in, stored_snapshots

WHY = "rolled back on its host"


def roll_back(config: Config, target: str, restart: bool) -> Iterator[str]:
    """Yields what it does, in words. Raises ConfigError, ApplyRefused, DidNotStart and DatabaseUnavailable."""
    database = local_database(config, SystemClock())
    snapshots = stored_snapshots(database.state, target)
    if snapshots is None:
        raise ConfigError(f"no {target.replace('_', '-')} is kept in {config.agent.state_dir}")
    running = not database.state.lock()
    if running and database.changes.load().in_hand is not None:
        raise ApplyRefused("paused", "the running agent is carrying out a change just now; try again in a moment")
    database.state.pause()
    try:
        yield from _restore(database, snapshots, restart)
    finally:
        database.engine.health.close()
        database.state.unlock()
    yield "the agent is paused; `lutra-agent resume` lets it take directives again"


def _restore(database: LocalDatabase, snapshots: Snapshots, restart: bool) -> Iterator[str]:
    control = database.control.for_operator()
    if database.state.is_anothers:
        yield "the state folder is another account's: its settings are restored, and no other line of a settings file"
        snapshots = vetted(database.engine.sources, snapshots, database.config.restart.data_dir)
    if control.up():
        names = differences(database.read_server(), snapshots)
        yield from _restore_settings(database, control, snapshots, names, restart)
        if not names:
            yield "nothing differs"
    else:
        yield "the database is down: restoring its settings files and starting it"
        restore(database.engine, control, snapshots, [], restart=False)
        yield "the database is up"
        own = snapshots[SERVER].texts
        left = [n for n in differences(database.read_server(), snapshots) if n not in own]
        yield from _restore_settings(database, control, snapshots, left, restart=False)
    _close_records(database)


def _restore_settings(
    database: LocalDatabase, control: ServerControl, snapshots: Snapshots, names: list[str], restart: bool
) -> Iterator[str]:
    if not names:
        return
    settings, active = database.read_server().settings, active_in(snapshots)
    waiting = [n for n in names if settings[n].applies == "restart"]
    restarting = bool(waiting) and restart and control.may_restart
    for name in names:
        yield f"{name}: {settings[name].value} → {active[name]} {settings[name].unit}".rstrip()
    restore(database.engine, control, snapshots, names, restarting)
    if waiting and not restarting:
        yield f"active after the next restart: {', '.join(waiting)}"
    if rebooting := [n for n in names if settings[n].applies == "reboot"]:
        yield f"active after the next reboot of the host: {', '.join(rebooting)}"


def _close_records(database: LocalDatabase) -> None:
    """Nothing is half done or under watch any more; each change that was is reported as reverted."""
    outcomes, changes = Outcomes(SystemClock(), database.read_server), database.changes.load()
    alive = [c for c in (changes.watched, changes.in_hand) if c is not None]
    made = tuple(outcomes.make(c.directive, "reverted", message=WHY, names=c.names) for c in alive)
    database.changes.write(RolledBack(made))
