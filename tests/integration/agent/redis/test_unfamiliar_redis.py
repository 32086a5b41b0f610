"""A Redis as others run it: without CONFIG, or with a value that the catalogue does not know."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from lutra_agent.engines.redis.server.session import NO_CONFIG
from lutra_agent.metrics.rates import Span, span
from lutra_agent.runtime.compose import running
from lutra_lab.servers.errors import LabError

from tests.support.agent.processes import TOKEN, config
from tests.support.fakes.engine import NoSignals
from tests.support.fakes.service import FakeService, serving
from tests.support.reported.samples import sample
from tests.support.servers.engines import scratch
from tests.support.servers.subjects import engine_of
from tests.support.servers.symptomatic import Patient
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_a_server_without_config_is_observed_by_what_it_tells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    with scratch("redis", **{"rename-command": 'CONFIG ""'}) as server, serving(FakeService()) as service:
        engine = engine_of(server)
        before = sample(engine)
        found = span(before, sample(engine))
        assert isinstance(found, Span)
        assert (*before.problems, *found.problems) == ()
        assert "qps" in engine.telemetry.targets(found.before, found.after).metrics
        assert engine.own.read() == {}
        assert engine.own.permissions(["hz"]).explanation == NO_CONFIG
        assert next(v for v in engine.telemetry.visible() if v.name == "CONFIG").remedy == NO_CONFIG
        engine.health.close()
        made = config(server, service.url, tmp_path / "state", "observe")
        with running(made, signals=NoSignals()) as loop:
            loop.run(ended=lambda: sum(r.window is not None for r in service.reports) >= 2)
        assert service.reports[-1].status.problems == []


@pytest.mark.parametrize("engine", ["redis", "valkey"])
def test_a_value_that_cannot_be_read_costs_its_setting_alone_and_is_named(
    engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    options = {"maxmemory": "100mb", "maxmemory-clients": "5%"}
    with scratch(engine, **options) as server, serving(FakeService()) as service:
        made = config(server, service.url, tmp_path / "state", "lab")
        service.offer("rec_1", {"hz": 20})
        with running(made, signals=NoSignals()) as loop:
            loop.run(ended=lambda: any(o.directive == "rec_1" for r in service.reports for o in r.outcomes))
        [outcome] = [o for r in service.reports for o in r.outcomes]
        assert (outcome.state, outcome.active) == ("applied", {"hz": 20})
        told = service.reports[-1]
        [problem] = told.status.problems
        assert problem.startswith("maxmemory-clients: '5%' is not a number")
        sent = next(r.settings for r in service.reports if r.settings is not None)
        assert "hz" in sent
        assert "maxmemory-clients" not in sent
        assert server.sql("CONFIG GET maxmemory-clients").endswith("5%")


def test_a_limit_to_idle_connections_costs_no_window() -> None:
    with scratch("redis", timeout="1") as server:
        engine = engine_of(server)
        before = sample(engine)
        until(lambda: "connected_clients:1\r" in server.sql("INFO clients"))
        engine.health.ping()
        found = span(before, sample(engine))
        assert isinstance(found, Span)
        assert (*found.after.problems, *found.problems) == ()
        engine.health.close()


@pytest.mark.parametrize("engine", ["redis", "valkey"])
def test_writes_that_a_full_memory_refuses_are_a_symptom(engine: str, tmp_path: Path) -> None:
    with scratch(engine, **{"maxmemory": "512kb", "maxmemory-policy": "noeviction"}) as server:

        def load() -> None:
            for _ in range(40):
                with suppress(LabError):
                    server.sql("RPUSH jobs x")

        found = Patient(server, tmp_path).seen(load)["writes_refused_memory"]
        assert "40 commands were refused (OOM)" in found.sentence
        assert "of maxmemory = 512 kB, and maxmemory-policy = noeviction" in found.sentence


def test_writes_that_no_replica_confirms_are_a_symptom(tmp_path: Path) -> None:
    with scratch("redis", **{"min-replicas-to-write": "1"}) as server:

        def load() -> None:
            for _ in range(40):
                with suppress(LabError):
                    server.sql("SET k v")

        found = Patient(server, tmp_path).seen(load)["writes_refused_replicas"]
        assert "(NOREPLICAS)" in found.sentence
        assert "Commands refused in 10 s: 40" in found.sentence
        assert (found.kind, found.cures) == ("outage", ())
