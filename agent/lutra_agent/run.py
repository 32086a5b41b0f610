"""The composition root of a running agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lutra_models.server import Server
from lutra_models.wire import AgentStatus

from lutra_agent import __version__, drivers, provisional
from lutra_agent.carry_out import CarryOut
from lutra_agent.checks import Bounds
from lutra_agent.clock import Clock, SystemClock
from lutra_agent.config import Config
from lutra_agent.control import Control
from lutra_agent.conversation import Conversation
from lutra_agent.engines import family
from lutra_agent.engines.base import Engine
from lutra_agent.errors import ConfigError
from lutra_agent.host import HostProbe
from lutra_agent.loop import Loop
from lutra_agent.measure import Measure
from lutra_agent.pace import Pace
from lutra_agent.parts import Parts, Shield
from lutra_agent.prometheus import Prometheus
from lutra_agent.reports import Reports, reporting_name
from lutra_agent.service_link import ServiceLink, ThreadedLink
from lutra_agent.shield import SignalShield
from lutra_agent.spool import Spool
from lutra_agent.state import State
from lutra_agent.told import Told
from lutra_agent.transport import Transport
from lutra_agent.watch import Watch


class Beside:
    """The database beside which the agent runs: the engine, its host, and the commands that control it."""

    def __init__(self, config: Config, clock: Clock, engine: Engine | None = None) -> None:
        self.config = config
        served = family(config.database.engine)
        self.engine = engine or served.open(config.database)
        self.state = State(config.agent.state_dir)
        self.control = Control(config.restart, self.engine, clock, self.state)
        self.probe = HostProbe(programs=served.programs)
        self.told = Told(self.state, config.guard)
        self.watch = Watch(self.state, self.told.rails, config.guard)

    def data_dir(self) -> Path | None:
        if self.config.restart.data_dir is not None:
            return self.config.restart.data_dir
        return self.engine.data_dir()

    def look(self) -> Server:
        """The live server. Raises DatabaseUnavailable and CollectionFailed."""
        return self.engine.server(self.probe.facts(self.engine.process_id(), self.data_dir()))

    def bounds(self) -> Bounds:
        agent, change = self.config.agent, provisional.unconfirmed(self.state)
        return Bounds(
            agent.mode,
            self.state.paused,
            agent.memory_fraction,
            self.told.rules.maintenance_windows,
            self.watch.firing,
            change.directive if change else None,
            self.config.guard.confirm_s,
            self.watch.has_baseline,
            agent.durability,
            driver=self.config.driver is not None,
            own_windows=self.config.restart.maintenance_windows,
            by_catalogue=agent.ranges == "catalogue",
            pace=Pace(agent.changes_per_hour, self.config.restart.per_hour),
        )

    def carry_out(self, clock: Clock) -> CarryOut:
        return CarryOut(self.engine, self.state, self.control, clock, self.look, self.bounds)


@contextmanager
def running(
    config: Config,
    clock: Clock | None = None,
    shield: Shield | None = None,
    engine: Engine | None = None,
) -> Iterator[Loop]:
    """A loop that holds the state folder's lock. Raises ConfigError where that, or the folder, is another's."""
    clock = clock or SystemClock()
    beside = Beside(config, clock, engine)
    if beside.state.is_anothers:
        message = (
            f"agent.state_dir: {beside.state.folder} belongs to user id {beside.state.owner}: run the agent as that"
        )
        raise ConfigError(f"{message} account; root may pause, resume and roll back there")
    if not beside.state.lock():
        raise ConfigError(f"another lutra-agent works in {config.agent.state_dir}")
    try:
        with _linked(config, clock) as (spool, link):
            yield _loop(config, clock, beside, spool, link, shield or SignalShield())
    finally:
        beside.engine.close()
        beside.state.unlock()


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


def _loop(config: Config, clock: Clock, beside: Beside, spool: Spool, link: ServiceLink, shield: Shield) -> Loop:
    section = config.driver
    driver = None if section is None else drivers.build(section, config.database)
    prometheus = Prometheus(config.prometheus) if config.prometheus else None

    def status() -> AgentStatus:
        return AgentStatus(
            version=__version__,
            mode=config.agent.mode,
            paused=beside.state.paused,
            driver=driver and driver.name,
            spool_dropped=spool.dropped,
            spool_refused=spool.refused,
            problems=[*loop.problems, *beside.told.problems(), *link.problems],
            guardrails=beside.told.rails(),
            firing=list(beside.watch.firing),
            provisional=change.directive if (change := provisional.unconfirmed(beside.state)) else None,
        )

    loop = Loop(
        Parts(
            config.agent,
            clock,
            beside.engine,
            beside.state,
            Measure(beside.engine, beside.probe, clock, beside.data_dir, prometheus),
            beside.carry_out(clock),
            Reports(config.agent.name, spool, clock, status),
            link,
            beside.look,
            driver,
            shield,
            beside.told,
            beside.watch,
        )
    )
    return loop
