"""What is a Redis's own: rights, its file, a server without one, memory in use, the ways to it."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.config.types import CONFIRM_S
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family
from lutra_agent.errors import ApplyRefused, ConfigError, DatabaseUnavailable, LoginRefused
from lutra_agent.runtime.compose import running
from lutra_agent.state.change_store import ChangeStore
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.ports import accepts, free_port
from lutra_models.catalog import meet
from lutra_models.wire import Outcome

from tests.support.agent.processes import TOKEN, MovedClock, config, guards
from tests.support.conformance.engine import HOST
from tests.support.fakes.engine import NoSignals
from tests.support.fakes.service import FakeService, serving
from tests.support.reported.samples import sample
from tests.support.servers.certificates import authority
from tests.support.servers.certificates import server as certificate
from tests.support.servers.engines import OTHER_STORES, program, scratch
from tests.support.servers.subjects import engine_of, subject_of, variables
from tests.support.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.engine, pytest.mark.slow]


ODD = b"""# ours
hz 20
requirepass ""
user reader on nopass ~r:* +get

HZ 15
# no newline at its end: maxmemory-samples 4"""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    with serving(FakeService()) as found:
        yield found


def outcomes(service: FakeService) -> list[Outcome]:
    return [o for r in service.reports for o in r.outcomes]


@pytest.fixture(scope="module", params=["redis", "valkey", *OTHER_STORES])
def server(request: pytest.FixtureRequest) -> Iterator[ScratchServer]:
    with scratch(request.param) as server:
        yield server


@contextmanager
def without_a_file(folder: Path, *options: str) -> Iterator[int]:
    port = free_port()
    argv = [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), *options]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        until(lambda: accepts(port) and answers(port))
        yield port
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    """Whether it serves, if only a refusal: it listens on its port before it has made its socket."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(1) != b""


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
    assert "data would be evicted" in outcome.message
    assert subject.fresh() == before
    assert server.sql("EXISTS large") == "1"
    subject.engine.health.close()


def test_of_several_settings_one_that_the_server_refuses_changes_none(server: ScratchServer) -> None:
    if server.version.startswith("6."):
        pytest.skip("before 7.0 a call takes one setting; the agent undoes those before it")
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


def test_what_nobody_confirmed_is_taken_back_byte_by_byte_and_the_server_never_writes_its_file(
    service: FakeService, tmp_path: Path
) -> None:
    """Also where it was started anew meanwhile, by somebody else and with the agent away."""
    with scratch("redis") as server:
        server.stop()
        server.file.write_bytes(server.file.read_bytes() + ODD)
        server.start()
        before, file = variables(server), server.file.read_bytes()
        server.sql("CONFIG SET slowlog-max-len 77")  # somebody's own, and in no file
        guard, clock = {**guards(), "confirm_windows": 100}, MovedClock()
        made = config(server, service.url, tmp_path / "state", "reload_only", guard=guard)
        service.offer("rec_1", {"hz": 33, "maxmemory-samples": 9})
        with running(made, clock, NoSignals()) as loop:
            loop.run(ended=lambda: bool(outcomes(service)))
        written = server.file.read_bytes()
        assert written == file.replace(b"hz 20\n", b"").replace(b"HZ 15\n", b"") + b"\nhz 33\nmaxmemory-samples 9\n"
        server.crash()
        server.start()
        assert variables(server) == {**before, "hz": "33", "maxmemory-samples": "9"}
        clock.ahead_s = CONFIRM_S + 1
        with running(made, clock, NoSignals()) as loop:
            loop.run(ended=lambda: len(outcomes(service)) == 2)
        assert [o.code for o in outcomes(service)] == [None, "not_confirmed"]
        assert variables(server) == before
        assert server.file.read_bytes() == file
        assert "rewrite" not in server.sql("INFO commandstats")


def test_a_server_without_a_file_takes_what_is_live_and_nothing_that_needs_a_restart(tmp_path: Path) -> None:
    with without_a_file(tmp_path) as port, connected(port) as engine:
        source = engine.own
        assert source.backing is not None
        assert source.backing.settings_file() is None
        found = source.permissions(["hz", "tcp-backlog"])
        assert found.changeable == {"hz"}
        assert "its next start forgets every change" in found.explanation
        live = meet(engine.server(HOST))
        source.execute([s for c in live.changes({"hz": 25}) for s in source.plan(c, restart=False)])
        assert source.read()["hz"].value == "25"


def test_a_server_that_writes_its_data_nowhere_is_not_restarted_for_a_setting(tmp_path: Path) -> None:
    with without_a_file(tmp_path, "--save", "") as port, connected(port) as engine:
        settings = engine.own.read()
        assert settings["tcp-backlog"].applies == "fixed"
        assert settings["hz"].applies == "immediate"


@pytest.mark.parametrize("engine", ["redis", "valkey", *OTHER_STORES])
def test_the_data_outlast_the_restarts_of_a_change_and_of_its_undo(engine: str, tmp_path: Path) -> None:
    with scratch(engine) as server:
        subject = subject_of(server, tmp_path / "state")
        before = subject.fresh()
        server.sql(f"SETRANGE large {64 << 20} x")
        outcome = subject.do("rec_1", {"appendonly": "yes", "tcp-backlog": 300}, measure=False)
        assert (outcome.state, outcome.restarted) == ("applied", True)
        assert server.sql("EXISTS large") == "1"
        server.sql("SET later 1")
        server.sql('CONFIG SET save ""')  # by hand; the server now keeps its data in the append-only file alone
        change = ChangeStore(subject.state).load().watched
        assert change is not None
        with pytest.raises(ApplyRefused, match="a restart would lose data"):
            subject.executor.undo(change, "guardrail", "p99")
        assert server.sql("EXISTS large later") == "2"
        server.sql("CONFIG SET save '3600 1'")
        undone = subject.executor.recover()
        assert undone is not None
        assert (undone.state, undone.restarted) == ("reverted", True)
        assert server.sql("EXISTS large later") == "2"
        assert subject.fresh() == before
        subject.engine.health.close()


def test_a_password_goes_by_a_socket_or_where_that_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", "open sesame")
    own = tmp_path / "r.sock"
    options = ("--requirepass", "open sesame", "--unixsocket", str(own))
    with without_a_file(tmp_path, *options) as port:
        with connected(port) as engine, pytest.raises(LoginRefused, match="in clear"):
            engine.health.ping()
        for more in ({"host": str(own)}, {"password_in_clear": True}):
            with connected(port, **more) as engine:
                engine.health.ping()
                assert engine.server(HOST).role == "primary"
        monkeypatch.setenv("REDISCLI_AUTH", "wrong")
        with connected(port, host=str(own)) as engine, pytest.raises(LoginRefused):
            engine.health.ping()
        monkeypatch.delenv("REDISCLI_AUTH")
        with connected(port) as engine, pytest.raises(LoginRefused):
            engine.health.ping()


def test_tls_is_to_a_server_that_proves_itself_and_a_password_goes_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca, other = authority(tmp_path), authority(tmp_path, "other")
    made, key = certificate(tmp_path, ca)
    monkeypatch.setenv("REDISCLI_AUTH", "open sesame")
    port = free_port()
    tls = ("--tls-port", str(port), "--tls-cert-file", str(made), "--tls-key-file", str(key))
    tls += ("--tls-ca-cert-file", str(ca), "--tls-auth-clients", "no", "--requirepass", "open sesame")
    with without_a_file(tmp_path, *tls):
        for verify in ("identity", "ca"):
            with connected(port, tls_ca=ca, tls_verify=verify) as engine:
                assert engine.server(HOST).role == "primary"
            with connected(port, tls_ca=other, tls_verify=verify) as engine, pytest.raises(DatabaseUnavailable):
                engine.health.ping()
        with connected(port, host="localhost", tls_ca=ca) as engine, pytest.raises(DatabaseUnavailable):
            engine.health.ping()  # the certificate is one for another name
        with connected(port, host="localhost", tls_ca=ca, tls_verify="ca") as engine:
            engine.health.ping()


def test_the_probe_is_a_source_of_p99_and_off_on_a_replica(server: ScratchServer, tmp_path: Path) -> None:
    engine = engine_of(server, probe_per_s=100)
    probe = engine.telemetry._probe  # type: ignore[attr-defined]
    before = sample(engine)
    meanwhile = probe.asked
    enough = sum(before.statements.timed.values()) + 110
    until(lambda: sum(probe.timed().values()) >= enough)
    found = engine.telemetry.targets(before, sample(engine))
    assert found.latency is not None
    assert (found.latency.source, found.latency.of) == ("probe", "command")
    if not server.version.startswith("6."):  # it has no histogram
        assert found.diagnostics["histogram.command_p99_ms"] > 0
    # Its own commands are not the clients', but for those that it asked while the first sample was taken.
    assert found.metrics["qps"] <= meanwhile + 1
    engine.health.close()
    host, port = server.host, server.port
    with without_a_file(tmp_path, "--replicaof", f"{host} {port}") as replica, connected(replica, probe_per_s=100) as e:
        assert e.server(HOST).role == "standby"
        assert e.telemetry.sample(datetime.now(UTC), 0.0).statements.timed == {}
        assert not next(v for v in e.telemetry.visible() if v.name == "probe").available


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with connected(free_port()) as engine, pytest.raises(DatabaseUnavailable):
        engine.health.ping()
