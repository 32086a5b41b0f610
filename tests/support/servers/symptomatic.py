"""What a real server shows under a load: its own telemetry before and after, and the symptoms of the time between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from lutra_agent.clock import SystemClock
from lutra_agent.engines.common.engine import Engine
from lutra_agent.metrics.rates import Discarded, span
from lutra_agent.runtime.compose import local_database
from lutra_lab.servers.base import ScratchServer
from lutra_models.catalog import LiveSettings, meet
from lutra_models.knobs import Value
from lutra_models.metrics import bounded
from lutra_models.server import Host, Policy
from lutra_models.symptoms import MeasuredWindow, Symptom, diagnose, of_engine

from tests.support.agent.processes import config
from tests.support.fakes.clock import START

HOST = Host(memory_bytes=8 << 30, cores=4, disk_bytes=200 << 30, rotational=False)
SECONDS = 10.0
"""What every window is told to have lasted: a rate is a count over it, whatever time the machine took for the load."""


class Patient:
    """A server, and an agent's eyes on it. The host is one that every cure fits on."""

    def __init__(self, server: ScratchServer, folder: Path) -> None:
        self.server = server
        self._config = config(server, "http://127.0.0.1:9", folder)
        self.unmeasured: set[str] = set()
        """What the symptoms of this version read and the latest window did not have."""

    def seen(self, load: Callable[[], None]) -> Mapping[str, Symptom]:
        """The symptoms of one window, the load's own, by name."""
        engine = local_database(self._config, SystemClock()).engine
        try:
            before = engine.telemetry.sample(START, 0.0)
            load()
            after = engine.telemetry.sample(START + timedelta(seconds=SECONDS), SECONDS)
            found = span(before, after)
            assert not isinstance(found, Discarded), found
            metrics = {**found.rates, **engine.telemetry.targets(found.before, found.after).metrics}
            window = MeasuredWindow(SECONDS, metrics, bounded(found.texts))
            met = live(engine)
            self.unmeasured = _read(met) - metrics.keys() - window.texts.keys()
            return {s.name: s for s in diagnose(met, Policy(), [window]).symptoms}
        finally:
            engine.health.close()


def live(engine: Engine) -> LiveSettings:
    return meet(engine.server(HOST))


def _read(met: LiveSettings) -> set[str]:
    """What the symptoms of this server read, that aside for which a default stands in, and the host's."""
    server = met.server
    rows = [r for r in of_engine(server.engine) if r.covers(server.engine, server.version)]
    read = {r.measured[n].reported for r in rows for n in r.names & r.measured.keys() - r.defaults.keys()}
    return {name for name in read if not name.startswith("host.")}


def cures(found: Mapping[str, Symptom]) -> dict[str, Value]:
    """Setting → value of all that is offered. Where two move one setting, the later one goes at least as far."""
    every = [c for s in found.values() for c in s.cures]
    return {c.setting: c.after for c in every if c.after is not None}
