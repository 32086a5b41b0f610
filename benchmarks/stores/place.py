"""A server on a small host that gets configurations, of the server and of the kernel, from the agent's own parts."""

from __future__ import annotations

import shutil
import sys
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from lutra_agent import drivers
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import AgentConfig, Config, RestartConfig, ServiceConfig
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family
from lutra_agent.errors import DidNotStart, DriverFailed
from lutra_agent.linux.client import HelperProgram
from lutra_agent.linux.disks import disk_of
from lutra_agent.linux.kernel import RATIOS, SETTINGS, Kernel, KernelSetting, Refused
from lutra_agent.linux.places import Places
from lutra_agent.linux.source import LinuxHost
from lutra_agent.metrics.measure import Measure
from lutra_agent.runtime.compose import local_database
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError
from lutra_models.catalog import meet
from lutra_models.knobs import Configuration
from lutra_models.server import Server
from lutra_models.wire import Directive

from benchmarks.lab.data import database_of, run
from benchmarks.lab.place import Reading
from benchmarks.lab.small_host import SmallHost, device
from benchmarks.stores.servers import KINDS
from benchmarks.stores.studies import Study

TIMEOUT_S = 300.0
LOOK_S = 0.1
HELPER = (
    "import sys; from pathlib import Path; from lutra_agent.linux.helper import Places, main; "
    "main([], Places(Path('/'), *map(Path, sys.argv[1:])))"
)
KEPT = ("latest_fork", "rdb_", "aof_")
PRELOADED = 'LD_PRELOAD="$(cat "$1")"; export LD_PRELOAD; shift; exec "$@"'
"""Runs a command under the library that a file names; under none where the file is empty."""


class Store:
    """Measures the server as it starts with its data read again. `driver` is the load of every measurement."""

    def __init__(
        self, study: Study, server: ScratchServer, host: SmallHost, folder: Path, driver: dict[str, Any]
    ) -> None:
        self._host, self._server, self._kind = host, server, KINDS[study.engine]
        self._preload = folder / "preload"
        self._preload.touch()
        clock = SystemClock()
        database = database_of(server)
        restart = RestartConfig(
            command=host.command(self._preloading(server.restart_command)),
            start_command=host.command(self._preloading(server.start_command)),
            timeout_s=TIMEOUT_S,
            data_dir=server.data_dir,
        )
        agent = AgentConfig(folder / "agent", mode="lab", durability=True)
        config = Config(ServiceConfig("http://127.0.0.1", "lab"), database, agent, restart, driver=driver)
        engine = family(database.engine).open(database)
        self._local = local_database(config, clock, _beside(engine, server, folder) if study.moves_host else engine)
        self._driver = drivers.build(driver, database)
        self._clock = clock
        local = self._local
        self._measure = Measure(local.engine.telemetry, local.probe, clock, local.place)

    def look(self) -> Server:
        return self._local.read_server()

    @property
    def context(self) -> dict[str, Any]:
        return self._driver.context()

    def measured(self, configuration: Configuration, preload: Path | None = None) -> Reading:
        """Make it active with a restart, under that library, and put the load on it. Raises LabError without it."""
        self._preload.write_text(str(preload or ""))
        with self._host.unhurried():
            try:
                problem = self._applied(configuration)
            except DidNotStart as error:
                return Reading(configuration, {}, f"did_not_start: {error}")
            if problem:
                return Reading(configuration, {}, problem)
            if preload is not None and str(preload.resolve()) not in Path(f"/proc/{self._server.pid}/maps").read_text():
                raise LabError(f"{preload} is not in the server's memory: is it installed?")
            self._kind.touch(self._server)
        active = meet(self.look()).values.restrict(configuration)
        before = self._host.requests()
        with _watched(self._host) as held:
            try:
                content = self._measure.driven(self._driver)
            except DriverFailed as error:
                return Reading(active, {}, f"driver_failed: {error}")
        writes = self._host.requests()["write"] - before["write"]
        metrics = {"qps": content.metrics["qps"], "disk_writes": float(writes), "peak_memory_bytes": float(max(held))}
        metrics |= {n: v for n, v in content.metrics.items() if any(part in n for part in KEPT)}
        return Reading(active, {**metrics, **({"p99_ms": content.latency.p99_ms} if content.latency else {})})

    def up(self) -> None:
        """Start it where it is down, and wait until it has read its data. Raises DidNotStart."""
        if not self._local.control.up():
            self._local.control.start()

    def close(self) -> None:
        self._local.engine.health.close()

    def _preloading(self, argv: Sequence[str]) -> tuple[str, ...]:
        return ("/bin/sh", "-c", PRELOADED, "sh", str(self._preload), *argv)

    def _applied(self, configuration: Configuration) -> str:
        """Why it is not active; empty where it is. Raises DidNotStart."""
        self.up()
        self._local.executor.recover()
        outcome = self._local.executor.execute(
            Directive(
                id=uuid.uuid4().hex,
                recommendation="lab",
                settings=dict(configuration),
                restart_allowed=True,
                measure=True,
                expires_at=self._clock.now() + timedelta(hours=1),
            )
        )
        if outcome.state != "applied":
            return f"{outcome.code}: {outcome.message}"
        if not outcome.restarted:
            self._local.control.restart()
        return ""


@contextmanager
def opened(study: Study, folder: Path, driver: dict[str, Any]) -> Iterator[Store]:
    """A store with the study's data, as it is found. Everything is gone, and the kernel as before, afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    try:
        with (
            _kernel(study, folder),
            SmallHost(f"lutra-stores-{study.name}", device(folder), study.limits) as host,
            KINDS[study.engine].make(folder / "server", study.options) as server,
        ):
            place = Store(study, server, host, folder, driver)
            try:
                with host.unhurried():
                    KINDS[study.engine].fill(server, study)
                    server.stop()
                    run(host.command(server.start_command))
                    place.up()
                yield place
            finally:
                place.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def driver_of(study: Study, duration_s: float) -> dict[str, Any]:
    return {**KINDS[study.engine].load(study), "warmup_s": study.warmup_s, "duration_s": duration_s}


def _beside(engine: Engine, server: ScratchServer, folder: Path) -> Engine:
    """With the kernel's settings, by the program that root runs; what it makes to last lies in this folder."""
    etc = folder / "etc"
    places = Places(Path("/"), etc / "sysctl.d/90-lutra.conf", etc / "host.conf", folder / "memory", etc)
    paths = [str(p) for p in (places.sysctls, places.devices, places.memory, places.system)]
    helper = HelperProgram((sys.executable, "-I", "-c", HELPER, *paths))
    return replace(engine, sources=(*engine.sources, LinuxHost(helper, lambda: server.data_dir, lambda: None, places)))


@contextmanager
def _kernel(study: Study, folder: Path) -> Iterator[None]:
    """The kernel as the study finds it; within, a session may move its settings. As before afterwards."""
    kernel = Kernel(Path("/"), disk_of(Path("/"), folder))
    before = {s: value for s in (*RATIOS.values(), *SETTINGS.values()) if (value := _read(kernel, s)) is not None}
    try:
        for name, value in study.kernel.items():
            kernel.write(SETTINGS[name], value)
        yield
    finally:
        for setting, value in before.items():
            if _read(kernel, setting) != value:
                kernel.write(setting, value)


def _read(kernel: Kernel, setting: KernelSetting) -> str | None:
    try:
        return kernel.read(setting)
    except (OSError, Refused):
        return None


@contextmanager
def _watched(host: SmallHost) -> Iterator[list[int]]:
    """What the processes within hold, read several times a second."""
    found, ended = [host.held_bytes()], threading.Event()

    def watch() -> None:
        while not ended.wait(LOOK_S):
            found.append(host.held_bytes())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
