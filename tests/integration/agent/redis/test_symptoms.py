"""Redis and Valkey with many things made wrong at once, and as fresh as they can be."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.clock import SystemClock
from lutra_agent.commands.symptoms import look
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError

from tests.support.agent.processes import config
from tests.support.servers.engines import scratch
from tests.support.servers.symptomatic import Patient
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SERVERS = ("redis", "valkey", "redis8")
WRONG = {
    "appendfsync": "no",
    "appendonly": "yes",
    "auto-aof-rewrite-percentage": "0",
    "hash-max-listpack-entries": "50000",
    "hz": "500",
    "io-threads": "16",
    "loglevel": "debug",
    "lua-time-limit": "0",
    "maxmemory": "64gb",
    "maxmemory-policy": "allkeys-lru",
    "maxmemory-samples": "1",
    "notify-keyspace-events": "KEA",
    "rdbchecksum": "no",
    "repl-timeout": "5",
    "slowlog-log-slower-than": "0",
    "stop-writes-on-bgsave-error": "no",
    "tcp-keepalive": "0",
    "timeout": "5",
}
SHOWN = {
    "all_is_slow_logged",
    "aof_rewrite_off",
    "background_too_often",
    "compact_blocks_too_long",
    "damage_is_not_seen",
    "events_for_nobody",
    "evictions_blind",
    "failed_snapshots_unnoticed",
    "idle_clients_cut",
    "keys_scanned",
    "log_chatty",
    "log_not_synced",
    "memory_limit_beyond_host",
    "no_password",
    "replication_breaks_by_itself",
    "scripts_cannot_be_ended",
    "somebody_monitors",
    "threads_beyond_cores",
    "writes_refused_replicas",
}
ELSEWHERE = {
    "persistence.loading_left_s",
    "failures.link",
    "replication.link_down_s",
    "replication.good_replicas",
    "replication.behind_bytes",
    "replication.lag_s",
    "login.none_left",
    "login.mute",
    "cluster.down",
    "cluster.assigned",
    "cluster.failing",
}
"""What a primary without a replica, that is none of a cluster and answers, has not."""
STUCK = {"clients.stuck_s", "clients.stuck_subscriber", "clients.stuck_subscribers"}
"""By the bytes that a client was sent in all, which Valkey counts; the name is of one that is stuck."""
LACKS = {
    "redis": {"clients.pause", "connections.cut_by_output_per_s", "connections.cut_by_input_per_s", *STUCK},
    "valkey": {"clients.stuck_subscriber"},
    "redis8": {"clients.pause", *STUCK},
}


@pytest.fixture(params=SERVERS)
def ill(request: pytest.FixtureRequest) -> Iterator[tuple[str, ScratchServer]]:
    with scratch(request.param, **WRONG) as server:
        yield request.param, server


def load(server: ScratchServer) -> None:
    with server.session() as run:
        for number in range(200):
            run(f"GET key:{number}")
        for _ in range(30):
            run("KEYS *")


def test_what_is_wrong_shows_and_every_metric_is_there(ill: tuple[str, ScratchServer], tmp_path: Path) -> None:
    name, server = ill
    server.sql('EVAL \'for i = 1, 60000 do redis.call("SET", "key:" .. i, i) end\' 0')
    server.sql("CONFIG SET min-replicas-to-write 1")
    with server.session() as watching:
        watching("MONITOR")
        found = Patient(server, tmp_path)
        shown = found.seen(lambda: load(server))
    assert shown.keys() >= SHOWN
    assert found.unmeasured - {"memory.scripts_evicted_per_s"} <= ELSEWHERE | LACKS[name]


@pytest.mark.parametrize("name", SERVERS)
def test_a_fresh_server_has_nothing_above_a_note(name: str, tmp_path: Path) -> None:
    with scratch(name) as server:
        server.sql("SET a b")
        found = Patient(server, tmp_path).seen(lambda: load(server))
    assert {s.kind for s in found.values()} <= {"note"}


@pytest.mark.parametrize("name", ["redis", "valkey"])
def test_a_script_that_hangs_is_named_by_an_agent_that_comes_later(name: str, tmp_path: Path) -> None:
    with scratch(name, **{"lua-time-limit": "100"}) as server:
        made = config(server, "http://127.0.0.1:9", tmp_path)

        def hang() -> None:
            with pytest.raises(LabError):
                server.sql("EVAL 'while true do end' 0")

        thread = threading.Thread(target=hang)
        thread.start()
        try:
            until(lambda: _refused(server))
            first = look(made, 0.5, SystemClock()).symptoms[0]
            assert (first.kind, first.name) == ("outage", "server_busy")
        finally:
            _end(server)
            thread.join()


def _refused(server: ScratchServer) -> bool:
    try:
        server.sql("GET a")
    except LabError as error:
        return "BUSY" in str(error)
    return False


def _end(server: ScratchServer) -> None:
    """As a person would: a library begins by a PING, which is refused as well."""
    with socket.create_connection((server.host, server.port)) as client:
        client.sendall(b"SCRIPT KILL\r\n")
        client.recv(100)
