"""Where a study happens: a scratch server on the small host, and the agent's own parts that change and measure it."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from lutra_agent import drivers
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import AgentConfig, Config, RestartConfig, ServiceConfig
from lutra_agent.errors import DidNotStart, DriverFailed
from lutra_agent.metrics.measure import Measure
from lutra_agent.runtime.compose import local_database
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError
from lutra_models.catalog import meet
from lutra_models.knobs import Configuration, Value
from lutra_models.server import Server
from lutra_models.wire import Directive, Outcome

from benchmarks.lab.data import Setting, copy_data, database_of, forget, run
from benchmarks.lab.labs import Lab
from benchmarks.lab.small_host import SmallHost, device
from benchmarks.lab.studies import FEW

Ranges = Literal["catalogue", "server"]
KEPT = ("host.disk_", "host.cpu_")
"""Counters that explain a reading; the others would only swell the results."""
TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Reading:
    """What came of a trial; `active` is what the server made of the configuration."""

    active: Configuration
    metrics: Mapping[str, float]
    failure: str | None = None


class Refused(LabError):
    """The agent does not apply a configuration: a rule of the catalogue is against it."""


class Place:
    """A running server that can be given a configuration and a load."""

    def __init__(
        self, lab: Lab, setting: Setting, server: ScratchServer, host: SmallHost, state: Path, ranges: Ranges
    ) -> None:
        self.server, self.host = server, host
        self._lab, self._setting = lab, setting
        self._clock = SystemClock()
        load = lab.driver(setting.load(lab.ages or "", FEW), setting.size)
        self._database = local_database(_config(server, host, state, load, ranges), self._clock)
        self._executor = self._database.executor
        self._measure = Measure(
            self._database.engine.telemetry,
            self._database.probe,
            self._clock,
            self._database.place,
        )

    def look(self) -> Server:
        return self._database.read_server()

    def context(self, workload: str, threads: int) -> dict[str, Value]:
        return self._driver(workload, threads).context()

    def renew(self, data: Path) -> None:
        """Start again from a copy of `data`, under the configuration that is active, with nothing of it cached."""
        with self.host.unhurried():
            if self.server.pid is not None:
                self.server.crash()
            copy_data(data, self.server.data_dir, self._lab.files)
            for folder in (data, self.server.data_dir):
                forget(folder)
            run(self.host.command(self.server.start_command))

    def applied(self, configuration: Configuration, restore: bool = False) -> Outcome:
        """Make it active, on a server that was started anew. Raises DidNotStart."""
        control = self._database.control
        if not control.up():
            control.start()
        self._executor.recover()
        outcome = self._executor.execute(
            Directive(
                id=uuid.uuid4().hex,
                recommendation="lab",
                settings=dict(configuration),
                restart_allowed=True,
                restore=restore,
                measure=True,
                expires_at=self._clock.now() + timedelta(hours=1),
            )
        )
        if outcome.state == "applied" and not outcome.restarted:
            control.restart()
        return outcome

    def measured(self, configuration: Configuration, workload: str, threads: int, restore: bool = False) -> Reading:
        """Make it active, begin from a clean start with warm caches, and put the load on it.

        Raises Refused where the agent does so; with `restore` it does not for the sake of memory.
        """
        with self.host.unhurried():
            try:
                outcome = self.applied(configuration, restore)
            except DidNotStart as error:
                return Reading(configuration, {}, f"did_not_start: {error}")
            if outcome.state == "refused":
                raise Refused(f"{outcome.code}: {outcome.message}")
            if outcome.state != "applied":
                return Reading(configuration, {}, f"{outcome.code}: {outcome.message}")
            self._lab.touch(self.server, self._setting.size)
        active = meet(self.look()).values.restrict(configuration)
        before = self.host.requests()
        try:
            content = self._measure.driven(self._driver(workload, threads))
        except DriverFailed as error:
            return Reading(active, {}, f"driver_failed: {error}")
        span_s = self._setting.warmup_s + self._setting.duration_s
        served = {f"small_disk.{n}s_per_s": (a - before[n]) / span_s for n, a in self.host.requests().items()}
        p99 = {"p99_ms": content.latency.p99_ms} if content.latency else {}
        kept = {n: v for n, v in content.metrics.items() if n.startswith(KEPT) or not n.count(".")}
        return Reading(active, {**kept, **served, **p99})

    def close(self) -> None:
        self._database.engine.health.close()

    def _driver(self, workload: str, threads: int) -> drivers.Driver:
        section = self._lab.driver(self._setting.load(workload, threads), self._setting.size)
        return drivers.build(section, self._database.config.database)


@contextmanager
def opened(name: str, lab: Lab, data: Path, setting: Setting, ranges: Ranges = "catalogue") -> Iterator[Place]:
    """A place with a copy of `data`, at the engine's default. Everything but `data` is gone afterwards.

    New values lie in `ranges`, as in the agent's file.
    """
    with (
        _fresh(setting.folder / name) as folder,
        SmallHost(f"lutra-lab-{name}", device(folder), setting.limits) as host,
        lab.make(folder / "server", lab.options) as server,
    ):
        server.stop()
        copy_data(data, server.data_dir, lab.files)
        with host.unhurried():
            run(host.command(server.start_command))
        place = Place(lab, setting, server, host, folder / "agent", ranges)
        try:
            yield place
        finally:
            place.close()


@contextmanager
def _fresh(folder: Path) -> Iterator[Path]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _config(server: ScratchServer, host: SmallHost, state: Path, load: Mapping[str, Any], ranges: Ranges) -> Config:
    """With a load of its own the agent knows that its changes are trials, which nobody has to confirm."""
    restart = RestartConfig(
        command=host.command(server.restart_command),
        start_command=host.command(server.start_command),
        timeout_s=TIMEOUT_S,
        data_dir=server.data_dir,
    )
    agent = AgentConfig(state, mode="lab", ranges=ranges)
    return Config(ServiceConfig("http://127.0.0.1", "lab"), database_of(server), agent, restart, driver=dict(load))
