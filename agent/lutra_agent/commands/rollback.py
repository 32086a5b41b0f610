"""`lutra-agent rollback`: restores a snapshot of this disk, with the service away and with the database up or down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lutra_models.catalog import meet
from lutra_models.errors import ApplyCode
from lutra_models.knobs import Value
from lutra_models.server import SERVER
from lutra_models.wire import HostRollback

from lutra_agent.admission.past_configurations import values_of
from lutra_agent.changes.outcomes import Outcomes
from lutra_agent.changes.restore import require_same_server, restore
from lutra_agent.changes.snapshots import differences
from lutra_agent.changes.vetted_snapshot import vetted
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import Config
from lutra_agent.control.server import ServerControl
from lutra_agent.errors import ApplyRefused, CollectionFailed, ConfigError, DatabaseUnavailable
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.state.change_events import RolledBack
from lutra_agent.state.snapshot import Snapshots, active_in, stored_snapshots
from lutra_agent.state.unreported import HostRollbacks

WHY = "rolled back on its host"


def roll_back(config: Config, target: str, restart: bool, reason: str = "") -> Iterator[str]:
    """Yields its steps, in words. The next report tells the service, `reason` included.

    Raises ConfigError, ApplyRefused, DidNotStart and DatabaseUnavailable.
    """
    database = local_database(config, SystemClock())
    snapshots = stored_snapshots(database.state, target)
    if snapshots is None:
        raise ConfigError(f"no {target.replace('_', '-')} is kept in {config.agent.state_dir}")
    running = not database.state.lock()
    if running and database.changes.load().in_hand is not None:
        raise ApplyRefused(ApplyCode.PAUSED, "the running agent is carrying out a change; try again in a moment")
    paused = "the agent is paused; `lutra-agent resume` lets it accept directives again"
    try:
        database.state.pause()
    except OSError as error:
        paused = f"the agent cannot be paused, as {database.state.folder} cannot be written: {error.strerror}"
    try:
        before = _active(database)
        yield from _restore(database, snapshots, restart)
        yield from _remember(database, snapshots, target, before, reason)
    finally:
        database.engine.health.close()
        database.state.unlock()
    yield paused


def _restore(database: LocalDatabase, snapshots: Snapshots, restart: bool) -> Iterator[str]:
    control = database.control.for_operator()
    if database.state.is_anothers:
        yield (
            "the state folder belongs to a different account: only its settings are restored, no "
            "other line of a settings file"
        )
        snapshots = vetted(database.engine.sources, snapshots, database.config.restart.data_dir)
    if control.up():
        require_same_server(database.engine, snapshots)
        names = differences(database.read_server(), snapshots)
        yield from _restore_settings(database, control, snapshots, names, restart)
        if not names:
            yield "nothing differs"
    else:
        yield "the database is down: restoring its settings files and starting it"
        restore(database.engine, control, snapshots, [], restart=False)
        yield "the database is up"
        own = snapshots[SERVER].texts if database.engine.own.backing is not None else {}
        left = [n for n in differences(database.read_server(), snapshots) if n not in own]
        yield from _restore_settings(database, control, snapshots, left, restart=False)
    yield from _close_records(database)


def _active(database: LocalDatabase) -> dict[str, Value]:
    """Empty while the database is down: what was active before is not known then."""
    try:
        return dict(meet(database.read_server()).values)
    except (DatabaseUnavailable, CollectionFailed):
        return {}


def _remember(
    database: LocalDatabase, snapshots: Snapshots, target: str, before: Mapping[str, Value], reason: str
) -> Iterator[str]:
    """What was restored, for the next report: nothing if nothing differed. Where the database was down, nobody knows
    what its settings were.

    A setting that is restored with the next restart counts by the value that it will have.
    """
    live = meet(database.read_server())
    restored = values_of(live, active_in(snapshots), [n for n in before if n in live.values])
    changed = {n: {"before": before[n], "after": v} for n, v in restored.items() if before[n] != v}
    if before and not changed:
        return
    fields = {"target": target, "at": database.clock.now(), "reason": reason[:1000], "settings": changed}
    try:
        HostRollbacks(database.state).add(HostRollback.model_validate(fields))
    except OSError as error:
        yield f"the service will not be notified, as {database.state.folder} cannot be written: {error}"


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


def _close_records(database: LocalDatabase) -> Iterator[str]:
    """Nothing is half done or under watch any more; each change that was is reported as reverted."""
    outcomes, changes = Outcomes(SystemClock(), database.read_server), database.changes.load()
    alive = [c for c in (changes.watched, changes.in_hand) if c is not None]
    made = tuple(outcomes.make(c.directive, "reverted", message=WHY, names=c.names) for c in alive)
    try:
        database.changes.write(RolledBack(made))
    except OSError as error:
        names = ", ".join(c.directive for c in alive)
        yield f"{database.state.folder} cannot be written: {error.strerror}: the agent will undo {names} once more"
