"""`lutra-agent rollback`: back to a snapshot on this disk, with the service away and with the database up or down."""

from __future__ import annotations

from collections.abc import Iterator

from lutra_agent.changes.outcomes import Answers
from lutra_agent.changes.restore import differences, restore
from lutra_agent.changes.vetted_snapshot import vouched
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import Config
from lutra_agent.errors import ApplyRefused, ConfigError
from lutra_agent.runtime.compose import Beside
from lutra_agent.state import provisional
from lutra_agent.state.journal import JOURNAL
from lutra_agent.state.outbox import Outbox
from lutra_agent.state.snapshot import Snapshot, stored_snapshot


def roll_back(config: Config, target: str, restart: bool) -> Iterator[str]:
    """Yields what it does, in words. Raises ConfigError, ApplyRefused, DidNotStart and DatabaseUnavailable."""
    beside = Beside(config, SystemClock())
    snapshot = stored_snapshot(beside.state, target)
    if snapshot is None:
        raise ConfigError(f"no {target.replace('_', '-')} is kept in {config.agent.state_dir}")
    running = not beside.state.lock()
    if running and beside.state.load(JOURNAL) is not None:
        raise ApplyRefused("paused", "the running agent is carrying out a change just now; try again in a moment")
    beside.state.pause()
    try:
        yield from _back(beside, snapshot, restart)
    finally:
        beside.engine.close()
        beside.state.unlock()
    yield "the agent is paused; `lutra-agent resume` lets it take directives again"


def _back(beside: Beside, snapshot: Snapshot, restart: bool) -> Iterator[str]:
    control = beside.control.for_operator()
    if beside.state.is_anothers:
        yield "the state folder is another account's: its settings are restored, and no other line of the settings file"
        snapshot = vouched(beside.engine, snapshot, beside.config.restart.data_dir)
    if not control.up():
        yield "the database is down: restoring its settings file and starting it"
        restore(beside.engine, control, snapshot, [], restart=False)
        yield "the database is up"
        _ended(beside)
        return
    server = beside.look()
    names = differences(server, snapshot)
    if not names:
        yield "nothing differs"
        _ended(beside)
        return
    waiting = [n for n in names if server.settings[n].applies == "restart"]
    restarting = bool(waiting) and restart and control.may_restart
    for name in names:
        yield f"{name}: {server.settings[name].value} → {snapshot.active[name]} {server.settings[name].unit}".rstrip()
    restore(beside.engine, control, snapshot, names, restarting)
    _ended(beside)
    if waiting and not restarting:
        yield f"active after the next restart: {', '.join(waiting)}"


def _ended(beside: Beside) -> None:
    """Nothing is half done any more, and what was provisional is told as taken back."""
    beside.state.forget(JOURNAL)
    change = provisional.find(beside.state)
    if change is None:
        return
    answers, why = Answers(beside.state, SystemClock(), beside.look), "rolled back on its host"
    Outbox(beside.state).add_outcome(
        answers.keep(answers.outcome(change.directive, "reverted", message=why, names=change.names))
    )
    provisional.forget(beside.state)
