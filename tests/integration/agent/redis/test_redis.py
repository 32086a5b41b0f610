"""What is a Redis's own: rights, a server without a file, memory in use, the ways to it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family
from lutra_agent.errors import ApplyRefused, ConfigError, DatabaseUnavailable, LoginRefused
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.ports import accepts, free_port
from lutra_models.catalog import meet

from tests.support.conformance import HOST
from tests.support.engines import program, scratch
from tests.support.subjects import engine_of, subject_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module", params=["redis", "valkey"])
def server(request: pytest.FixtureRequest) -> Iterator[ScratchServer]:
    with scratch(request.param) as server:
        yield server


@contextmanager
def without_a_file(folder: Path, *options: str) -> Iterator[int]:
    port = free_port()
    argv = [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), *options]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        while not accepts(port):
            time.sleep(0.02)
        yield port
    finally:
        process.kill()
        process.wait()


@contextmanager
def connected(port: int, **more: Any) -> Iterator[Engine]:
    """An engine of a Redis on this port of loopback."""
    redis = family("redis")
    engine = redis.open(redis.section(**{"engine": "redis", "host": "127.0.0.1", "port": port, **more}))
    try:
        yield engine
    finally:
        engine.health.close()


def test_check_names_the_rights_that_an_account_lacks_and_they_are_enough(server: ScratchServer) -> None:
    server.sql("ACL SETUSER poor on nopass -@all +ping +info +config|get")
    poor = engine_of(server, user="poor", probe_per_s=1)
    try:
        found = poor.own.permissions(["hz"])
        assert not found.changeable
        (remedy,) = found.remedies
        assert remedy.startswith("ACL SETUSER poor on -@all resetkeys ~lutra:probe:* +ping +info +config|get")
        server.sql(remedy)
        assert poor.own.permissions(["hz"]).changeable == {"hz"}
        sample = poor.telemetry.sample(datetime.now(UTC), 0.0)
        assert sample.problems == ()
        assert all(line.available for line in poor.telemetry.visible())
    finally:
        poor.health.close()
        server.sql("ACL DELUSER poor")


def test_a_server_that_is_another_product_is_refused(server: ScratchServer) -> None:
    engine = engine_of(server, engine="pika")
    with pytest.raises(ConfigError, match=r"database\.engine = 'pika', but the server"):
        engine.server(HOST)
    engine.health.close()


def test_a_limit_below_what_is_in_use_is_refused_and_nothing_is_evicted(server: ScratchServer, tmp_path: Path) -> None:
    subject = subject_of(server, tmp_path / "state")
    server.sql(f"SETRANGE large {4 << 20} x")
    before = subject.fresh()
    outcome = subject.do("rec_1", {"maxmemory": 2 << 20})
    assert (outcome.state, outcome.code) == ("reverted", "invalid_value")
    assert "data would go" in outcome.message
    assert subject.fresh() == before
    assert server.sql("EXISTS large") == "1"
    subject.engine.health.close()


def test_of_several_settings_one_that_the_server_refuses_changes_none(server: ScratchServer) -> None:
    engine = engine_of(server)
    before = engine.own.read()
    steps = [
        *engine.own.undo("hz", None, "33", False),
        *engine.own.undo("repl-backlog-size", None, "many", False),
    ]
    with pytest.raises(ApplyRefused, match="hz, repl-backlog-size: CONFIG SET failed"):
        engine.own.execute(steps)
    assert engine.own.read() == before
    engine.health.close()


def test_a_server_without_a_file_takes_what_is_live_and_nothing_that_needs_a_restart(tmp_path: Path) -> None:
    with without_a_file(tmp_path) as port, connected(port) as engine:
        source = engine.own
        assert source.settings_file() is None
        assert source.permissions(["hz", "tcp-backlog"]).changeable == {"hz"}
        live = meet(engine.server(HOST))
        source.execute([s for c in live.changes({"hz": 25}) for s in source.plan(c, restart=False)])
        assert source.read()["hz"].value == "25"


def test_a_server_that_writes_its_data_nowhere_is_not_restarted_for_a_setting(tmp_path: Path) -> None:
    with without_a_file(tmp_path, "--save", "") as port, connected(port) as engine:
        settings = engine.own.read()
        assert settings["tcp-backlog"].applies == "fixed"
        assert settings["hz"].applies == "immediate"


def test_a_password_goes_by_a_socket_or_where_that_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", "open sesame")
    socket = tmp_path / "r.sock"
    options = ("--requirepass", "open sesame", "--unixsocket", str(socket))
    with without_a_file(tmp_path, *options) as port:
        with connected(port) as engine, pytest.raises(LoginRefused, match="in clear"):
            engine.health.ping()
        for more in ({"host": str(socket)}, {"password_in_clear": True}):
            with connected(port, **more) as engine:
                engine.health.ping()
                assert engine.server(HOST).role == "primary"
        monkeypatch.setenv("REDISCLI_AUTH", "wrong")
        with connected(port, host=str(socket)) as engine, pytest.raises(LoginRefused):
            engine.health.ping()
        monkeypatch.delenv("REDISCLI_AUTH")
        with connected(port) as engine, pytest.raises(LoginRefused):
            engine.health.ping()


def test_the_probe_is_a_source_of_p99_and_off_on_a_replica(server: ScratchServer, tmp_path: Path) -> None:
    engine = engine_of(server, probe_per_s=100)
    before = engine.telemetry.sample(datetime.now(UTC), 0.0)
    while sum(engine.telemetry.sample(datetime.now(UTC), 1.0).statements.timed.values()) < 110:
        time.sleep(0.1)
    after = engine.telemetry.sample(datetime.now(UTC), 10.0)
    found = engine.telemetry.targets(before, after)
    assert found.latency is not None
    assert (found.latency.source, found.latency.of) == ("probe", "command")
    assert found.diagnostics["histogram.command_p99_ms"] > 0
    assert found.metrics["qps"] < 1  # its own commands are not the clients'
    engine.health.close()
    host, port = server.host, server.port
    with without_a_file(tmp_path, "--replicaof", f"{host} {port}") as replica, connected(replica, probe_per_s=100) as e:
        assert e.server(HOST).role == "standby"
        assert e.telemetry.sample(datetime.now(UTC), 0.0).statements.timed == {}
        assert not next(v for v in e.telemetry.visible() if v.name == "probe").available


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with connected(free_port()) as engine, pytest.raises(DatabaseUnavailable):
        engine.health.ping()
