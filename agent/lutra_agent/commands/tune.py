"""The surroundings of `lutra-agent tune`: the lock decides whether it works or watches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lutra_models.catalog.statements import Step, to_paste
from lutra_models.server import ServerSetting

from lutra_agent.clock import SystemClock
from lutra_agent.commands.tune_session import Session, SessionRequest
from lutra_agent.config.types import Config
from lutra_agent.drivers import build_loads
from lutra_agent.engines.common.sources import source_of
from lutra_agent.errors import ConfigError
from lutra_agent.reporting.transport import Transport
from lutra_agent.runtime.compose import local_database, running
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.runtime.signals import DeferredSignals, Stopped
from lutra_agent.state.snapshot import BASELINE, active_in, stored_snapshots
from lutra_agent.state.store import State


def run_session(config: Config, request: SessionRequest) -> Iterator[str]:
    """Yields the session's lines. Raises ConfigError if the agent's file does not allow a lab session."""
    if config.agent.mode != "lab" or config.driver is None:
        raise ConfigError("a tuning session needs agent.mode = 'lab' and a [driver] section")
    request = _with_loads(config, config.driver, request)
    clock = SystemClock()
    transport = Transport(config.service, config.service.token())
    signals = DeferredSignals()
    signals.install()
    try:
        if not _free(config):
            yield "an agent is already running here: watching its session"
            yield from Session(transport, None, clock, request).lines()
        else:
            with running(config, clock, signals) as loop:
                yield from Session(transport, loop, clock, request).lines()
        yield from _statements(config)
    except Stopped:
        yield "ended; the session is still open on the service"
    finally:
        transport.close()


def _with_loads(config: Config, driver: Mapping[str, Any], request: SessionRequest) -> SessionRequest:
    """Under the loads that were asked for; without any, under all that the agent's file names."""
    known = build_loads(driver, config.database)
    if unknown := [name for name in request.loads if name not in known]:
        raise ConfigError(f"--load {unknown[0]}: the file's [[driver.loads]] has {', '.join(known) or 'none'}")
    return request if request.loads else replace(request, loads=dict.fromkeys(known, 1.0))


def _statements(config: Config) -> Iterator[str]:
    """What is active now and was not before the agent's first change, as statements."""
    database = local_database(config, SystemClock())
    baseline = stored_snapshots(database.state, BASELINE)
    try:
        if baseline is not None:
            settings, before = database.read_server().settings, active_in(baseline)
            changed = [n for n, s in settings.items() if s.value != before.get(n, s.value)]
            yield f"active now, {len(changed)} settings different from the baseline:"
            yield from (f"  {line}" for line in to_paste(s for n in changed for s in _steps(database, n, settings[n])))
    finally:
        database.engine.health.close()


def _steps(database: LocalDatabase, name: str, setting: ServerSetting) -> tuple[Step, ...]:
    source = source_of(database.engine.sources, name)
    return source.undo(name, setting.persisted, setting.value, restart=False)


def _free(config: Config) -> bool:
    state = State(config.agent.state_dir)
    free = state.lock()
    state.unlock()
    return free
