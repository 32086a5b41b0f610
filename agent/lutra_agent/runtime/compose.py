"""The composition root of a running agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lutra_agent import drivers
from lutra_agent.clock import Clock, SystemClock
from lutra_agent.config.types import Config
from lutra_agent.control.restore_progress import RecordedProgress
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family, password_variables
from lutra_agent.errors import ConfigError
from lutra_agent.linux.client import HelperProgram
from lutra_agent.linux.source import LinuxHost
from lutra_agent.metrics.host import HostProbe
from lutra_agent.metrics.measure import Measure
from lutra_agent.metrics.prometheus import Prometheus
from lutra_agent.reporting.conversation import Conversation
from lutra_agent.reporting.reports import Reports, reporting_name
from lutra_agent.reporting.service_link import ServiceLink, ThreadedLink
from lutra_agent.reporting.spool import Spool
from lutra_agent.reporting.transport import Transport
from lutra_agent.runtime.directives import Directives
from lutra_agent.runtime.lab import Lab
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.runtime.loop import Loop
from lutra_agent.runtime.observer import Observer
from lutra_agent.runtime.reporter import Reporter
from lutra_agent.runtime.signals import DeferredSignals, SignalDeferral
from lutra_agent.runtime.windows import Windows
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.store import State


def local_database(config: Config, clock: Clock, engine: Engine | None = None) -> LocalDatabase:
    """Does not connect yet. Raises ConfigError for an unknown engine, and for a state folder of another account."""
    engine = _on_host(config, engine or family(config.database.engine).open(config.database))
    state = State(config.agent.state_dir)
    changes = ChangeStore(state)
    progress = RecordedProgress(changes)
    control = ServerControl(config.restart, engine.health, clock, state, password_variables(), progress=progress)
    return LocalDatabase(config, clock, engine, state, changes, control, HostProbe(programs=engine.health.programs))


def _on_host(config: Config, engine: Engine) -> Engine:
    """With the settings of this host's kernel, where the agent's own file lets them move."""
    if not config.host.settings:
        return engine
    helper, health = HelperProgram(config.host.helper), engine.health
    host = LinuxHost(helper, lambda: health.place().folder_or(config.restart.data_dir), lambda: health.place().process)
    return replace(engine, sources=(*engine.sources, host))


@contextmanager
def running(
    config: Config,
    clock: Clock | None = None,
    signals: SignalDeferral | None = None,
    engine: Engine | None = None,
) -> Iterator[Loop]:
    """A loop that holds the state folder's lock. Raises ConfigError if that, or the folder, is another's."""
    clock = clock or SystemClock()
    database = local_database(config, clock, engine)
    state = database.state
    if state.is_anothers:
        message = f"agent.state_dir: {state.folder} belongs to user id {state.owner}: run the agent as that"
        raise ConfigError(f"{message} account; root may pause, resume and roll back there")
    if not state.lock():
        raise ConfigError(f"another lutra-agent works in {config.agent.state_dir}")
    try:
        with _linked(config, clock) as (spool, link):
            yield loop_of(database, spool, link, signals or DeferredSignals())
    finally:
        database.engine.health.close()
        state.unlock()


@contextmanager
def _linked(config: Config, clock: Clock) -> Iterator[tuple[Spool, ThreadedLink]]:
    """The spool, and the link that sends what it holds until the end of this context."""
    spool, transport = Spool(config.agent.state_dir / "spool"), Transport(config.service, config.service.token())
    link = ThreadedLink(Conversation(reporting_name(config.agent.name), spool, transport, clock.monotonic), clock)
    link.start()
    try:
        yield spool, link
    finally:
        link.close()


def loop_of(database: LocalDatabase, spool: Spool, link: ServiceLink, signals: SignalDeferral) -> Loop:
    config, clock = database.config, database.clock
    prometheus = Prometheus(config.prometheus) if config.prometheus else None
    engine = database.engine
    names = config.agent.names
    measure = Measure(engine.telemetry, database.probe, clock, database.place, prometheus, names=names)
    reports = Reports(config.agent.name, spool, database.state, clock)
    lab = None
    if config.driver is not None:
        loads = drivers.build_loads(config.driver, config.database)
        lab = Lab(measure, drivers.build(config.driver, config.database), loads)
    return assembled(database, measure, reports, link, signals, lab)


def assembled(
    database: LocalDatabase,
    measure: Measure,
    reports: Reports,
    service: ServiceLink,
    signals: SignalDeferral,
    lab: Lab | None,
) -> Loop:
    windows = Windows(measure, database.monitor, database.clock, database.config.agent)
    reporter = Reporter(database, reports, service, lab)
    observer = Observer(database, windows, reporter, signals, driven=lab is not None)
    return Loop(database, observer, Directives(database, windows, reporter, signals, lab), reporter)
