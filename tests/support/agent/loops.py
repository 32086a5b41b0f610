"""A loop under a clock that the test moves, against a server and a service in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from lutra_agent.config.types import AgentConfig, Config, DatabaseConfig, GuardConfig, ServiceConfig
from lutra_agent.drivers.base import Measurement, Moment, nothing
from lutra_agent.engines.common.place import Place
from lutra_agent.errors import DriverFailed, ServiceUnavailable
from lutra_agent.metrics.host import HostProbe
from lutra_agent.metrics.measure import Measure
from lutra_agent.reporting.conversation import Conversation
from lutra_agent.reporting.reports import Reports
from lutra_agent.reporting.service_link import News, ServiceLink
from lutra_agent.reporting.spool import Spool
from lutra_agent.runtime.compose import assembled
from lutra_agent.runtime.lab import Lab
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.runtime.loop import Loop
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.store import State
from lutra_models.ending import Level
from lutra_models.guardrails import Guardrail
from lutra_models.history import Mode
from lutra_models.server import Host
from lutra_models.wire import Directive, EndedEarly, Outcome, Receipt, Report, Rules

from tests.support.agent.mortal import MortalControl, MortalEngine
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.engine import HOST, FakeControl, FakeEngine, NoSignals
from tests.support.fakes.service import decoded

WATCHED = GuardConfig(memory=Guardrail(0.0, 3600.0), confirm_windows=3, confirm_s=300.0, watch_s=100.0)


@dataclass
class Line:
    """The transport's two verbs, in memory."""

    clock: FakeClock
    reports: list[Report] = field(default_factory=list)
    offered: list[Directive] = field(default_factory=list)
    away: bool = False
    settings_wanted: bool = False
    rules: Rules = field(default_factory=Rules)

    def send(self, body: bytes) -> Receipt:
        if self.away:
            raise ServiceUnavailable("away")
        self.reports.append(Report.model_validate(decoded(body)))
        return Receipt(settings_wanted=self.settings_wanted, rules=self.rules)

    def directive(self, wait_s: float, agent: str, epoch: str) -> Directive | None:
        if self.away:
            self.clock.sleep(wait_s)
            raise ServiceUnavailable("away")
        if self.offered:
            return self.offered.pop(0)
        self.clock.sleep(wait_s)
        return None


class DirectLink:
    """A link to the service without a thread: what is said, is said at once."""

    def __init__(self, conversation: Conversation, clock: FakeClock) -> None:
        self._conversation = conversation
        self._clock = clock
        self._receipt: Receipt | None = None

    @property
    def problems(self) -> list[str]:
        return self._conversation.problems

    def send(self) -> None:
        self._receipt = self._conversation.send() or self._receipt

    def wait(self, seconds: float, ask: bool) -> News:
        receipt, self._receipt = self._receipt, None
        directive = receipt and receipt.directive
        if directive is None and ask and seconds > 0:
            directive = self._conversation.ask(max(round(seconds), 1))
        elif directive is None:
            self._clock.sleep(seconds)
        return News(directive, receipt and receipt.rules, bool(receipt and receipt.settings_wanted))

    def sent(self, within_s: float) -> bool:
        self.send()
        return self._conversation.send_in_s is None


class FakeDriver:
    name = "fake"

    def __init__(self, clock: FakeClock, engine: FakeEngine, clients: int = 8) -> None:
        self.clock = clock
        self.engine = engine
        self.clients = clients
        self.fails = False
        self.runs = 0

    def context(self) -> dict[str, Any]:
        return {"clients": self.clients}

    def run(
        self, on_window_start: Moment = nothing, on_window_end: Moment = nothing, must_reach: Level | None = None
    ) -> Measurement:
        self.runs += 1
        if self.fails:
            raise DriverFailed("no connection")
        self.clock.sleep(2)
        on_window_start()
        start = self.clock.now()
        self.engine.commits += 1000
        self.clock.sleep(10)
        on_window_end()
        if must_reach is not None and must_reach.value > 100.0:
            ended = EndedEarly(metric=must_reach.metric, bound=100.0, planned_s=60.0)
            return Measurement(start, self.clock.now(), {}, "transaction", "tpcb-like", ended)
        metrics = {"qps": 700.0, "tps": 100.0, "p99_ms": 31.0}
        return Measurement(start, self.clock.now(), metrics, "transaction", "tpcb-like")


class FakeProbe(HostProbe):
    """The host that every test's server runs on."""

    def facts(self, pid: int | None = None, data_dir: Path | None = None) -> Host:
        return HOST


@dataclass
class Bench:
    database: LocalDatabase
    loop: Loop
    engine: FakeEngine
    clock: FakeClock
    line: Line
    driver: FakeDriver
    loads: Mapping[str, FakeDriver]
    state: State
    control: FakeControl
    measure: Measure
    reports: Reports
    spool: Spool

    def offer(self, settings: dict[str, Any], identifier: str = "rec_1", **more: Any) -> None:
        fields = {"id": identifier, "recommendation": identifier, "settings": settings, "restart_allowed": True, **more}
        fields["expires_at"] = self.clock.now() + timedelta(hours=1)
        self.line.offered.append(Directive.model_validate(fields))

    def told(self, identifier: str = "rec_1") -> list[Report]:
        return [r for r in self.line.reports if any(o.directive == identifier for o in r.outcomes)]


def bench(
    folder: Path,
    mode: Mode,
    with_driver: bool,
    guarding: GuardConfig | None = None,
    engine: FakeEngine | None = None,
    clock: FakeClock | None = None,
    line: Line | None = None,
) -> Bench:
    clock = clock or FakeClock()
    engine = engine or FakeEngine(folder / "postgresql.auto.conf")
    state, line, driver = State(folder / "state"), line or Line(clock), FakeDriver(clock, engine)
    kind = MortalControl if isinstance(engine, MortalEngine) else FakeControl
    control, probe = kind(engine, clock, state=state), FakeProbe(folder)
    config, changes = _config(folder, mode, with_driver, guarding), ChangeStore(state)
    database = LocalDatabase(config, clock, engine.opened, state, changes, control, probe)
    spool = Spool(folder / "spool")
    link = DirectLink(Conversation("agent1", spool, line, clock.monotonic, lambda: 0.0), clock)  # type: ignore[arg-type]
    reports = Reports("host.example", spool, state, clock)
    measure = Measure(engine, probe, clock, lambda: Place(os.getpid()) if engine.here else Place())
    loads = {"few": FakeDriver(clock, engine, clients=2), "many": FakeDriver(clock, engine, clients=16)}
    lab = Lab(measure, driver, loads) if with_driver else None
    loop = assembled(database, measure, reports, link, NoSignals(), lab)
    return Bench(database, loop, engine, clock, line, driver, loads, state, control, measure, reports, spool)


def _config(folder: Path, mode: Mode, with_driver: bool, guarding: GuardConfig | None) -> Config:
    return Config(
        ServiceConfig("http://127.0.0.1", "shop"),
        DatabaseConfig("postgresql", "127.0.0.1", 5432),
        AgentConfig(folder / "state", mode=mode, interval_s=10, changes_per_hour=60),
        guard=guarding or GuardConfig(),
        driver={"kind": "command"} if with_driver else None,
    )


def linked(made: Bench, service: ServiceLink) -> Bench:
    """The same with another link to the service, and a loop that has just begun."""
    return replace(made, loop=assembled(made.database, made.measure, made.reports, service, NoSignals(), None))


def turn(made: Bench, cycles: int = 1) -> None:
    for _ in range(cycles):
        made.engine.commits += 500
        made.loop.cycle()


def outcomes(made: Bench, identifier: str = "rec_1") -> list[Outcome]:
    return [o for r in made.told(identifier) for o in r.outcomes if o.directive == identifier]


def again(made: Bench, folder: Path) -> Bench:
    """Another run of the agent over the same folder and server."""
    fresh = bench(folder, "reload_only", with_driver=False, guarding=WATCHED)
    fresh.clock.seconds = made.clock.seconds
    fresh.engine.settings = made.engine.settings
    return fresh
