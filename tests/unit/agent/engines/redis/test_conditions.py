"""What a server's own words say of its state: failures, clients, strangers, its process, and a script that hangs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.engines.redis.engine import RedisHealth
from lutra_agent.engines.redis.server.connect import NotPermitted
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import PRODUCTS, Session
from lutra_agent.engines.redis.telemetry import clients
from lutra_agent.engines.redis.telemetry.collectors import (
    FromCommands,
    FromWords,
    paused,
    replication,
    since_snapshot_s,
)
from lutra_agent.engines.redis.telemetry.exposure import Exposure
from lutra_agent.engines.redis.telemetry.telemetry import RedisTelemetry, of_process
from lutra_agent.errors import CollectionFailed, LoginRefused

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BUSY = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
LINE = "id={id} addr=10.0.0.1:5 name= idle={idle} flags={flags} db=0 multi={multi} omem={omem} cmd={cmd} user=default"
GREETING = ["server", "redis", "version", "7.0.15", "proto", 2, "id", 7, "mode", "standalone", "role", "master"]


def listed(*about: dict[str, Any]) -> dict[str, float]:
    usual = {"id": 1, "idle": 0, "flags": "N", "multi": -1, "omem": 0, "cmd": "get"}
    return dict(clients.read("\n".join(LINE.format(**{**usual, **a}) for a in about)).gauges)


def test_clients_are_told_apart_by_their_flags() -> None:
    found = listed(
        {},
        {"idle": 61},
        {"idle": 90, "multi": 2},
        {"flags": "O", "omem": 7},
        {"flags": "S", "omem": 5},
        {"flags": "P", "omem": 3},
        {"omem": 2},
    )
    assert found == {
        "listed": 4,
        "idle": 2,
        "in_transaction": 1,
        "monitors": 1,
        "paused": 0,
        "largest_answer_bytes": 2,
        "largest_subscriber_bytes": 3,
        "largest_replica_bytes": 5,
    }


@pytest.mark.parametrize(("cmd", "kept"), [("set", 1), ("blpop", 0), ("xreadgroup", 0), ("ft.search", 0), ("NULL", 0)])
def test_who_waits_in_a_command_that_waits_by_nature_is_not_paused(cmd: str, kept: int) -> None:
    assert listed({"flags": "b", "cmd": cmd})["paused"] == kept


def test_what_is_no_list_of_clients_counts_nothing() -> None:
    assert set(clients.read("nonsense\n\n= = =").gauges.values()) == {0.0}


def test_a_line_with_another_word_than_the_good_one_is_a_failure_and_a_missing_line_is_nothing() -> None:
    words = FromWords("failures", {"snapshot": ("rdb_last_bgsave_status", "ok"), "link": ("master_link_status", "up")})
    found = words.read({"rdb_last_bgsave_status": "err"})
    assert found is not None
    assert found.gauges == {"snapshot": 1.0}
    assert words.read({}) is None


def test_commands_are_counted_by_kind_and_together() -> None:
    of = FromCommands("work", {"keys": frozenset({"keys"}), "scripts": frozenset({"eval"})})
    found = of.read({"cmdstat_keys": "calls=3,usec=90,usec_per_call=30", "cmdstat_config|get": "calls=1,usec=5"})
    assert found is not None
    assert found.counters == {"keys": 3, "keys_us": 90, "scripts": 0, "scripts_us": 0, "all_us": 95}
    assert of.read({"used_memory": "1"}) is None


def test_a_primary_tells_how_far_its_replicas_are_behind() -> None:
    info = {
        "role": "master",
        "master_repl_offset": "5000",
        "slave0": "ip=10.0.0.2,port=1,state=online,offset=4000,lag=0",
        "slave1": "ip=10.0.0.3,port=1,state=wait_bgsave,offset=0,lag=0",
    }
    assert replication(info) == {"is_replica": 0.0, "following": 1.0, "behind_bytes": 1000.0}
    assert replication({"role": "slave"}) == {"is_replica": 1.0}


def test_a_snapshots_age_and_a_pause_are_told_where_the_version_tells_them() -> None:
    assert since_snapshot_s({"server_time_usec": "1000000000", "rdb_last_save_time": "400"}) == 600.0
    assert since_snapshot_s({"rdb_last_save_time": "400"}) is None
    assert [paused({"paused_reason": r}) for r in ("none", "client_pause")] == [0.0, 1.0]
    assert paused({}) is None


class Answering:
    """A connection that answers from a table, by a command's first two words or its first."""

    generation, asked = 1, 0

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers, self.asks = answers, list[str]()

    def ask(self, *words: str) -> Any:
        self.asks.append(" ".join(words))
        found = self.answers.get(" ".join(words), self.answers.get(words[0]))
        if isinstance(found, Exception):
            raise found
        return found

    def text(self, *words: str) -> str:
        return str(self.ask(*words))

    def pairs(self, *words: str) -> dict[str, str]:
        found = [str(item) for item in self.ask(*words) or ()]
        return dict(zip(found[::2], found[1::2], strict=False))

    def close(self) -> None: ...


def session(answers: dict[str, Any], user: str = "default") -> Any:
    made: Any = Session(RedisDatabase(engine="redis", host="127.0.0.1", port=1, user=user), PRODUCTS["redis"])
    made.connection = Answering(answers)
    return made


def told(
    bind: str, protected: str, version: tuple[int, ...], answer: object = "PONG", user: str = ""
) -> dict[str, float]:
    values = {"bind": bind, "protected-mode": protected, "port": "6379", "tls-port": "0"}
    server = session({f"CONFIG GET {name}": [name, value] for name, value in values.items()}, user)
    stranger: Any = Answering({"PING": answer})
    found = Exposure(server, lambda: stranger).read(0.0, version)
    assert found is not None
    return dict(found.gauges)


@pytest.mark.parametrize(
    ("bind", "network"),
    [
        ("127.0.0.1 -::1", 0),
        ("localhost", 0),
        ("", 0),
        ("* -::*", 1),
        ("127.0.0.1 10.0.0.5", 1),
        ("0.0.0.0", 1),
        ("fe80::1%eth0", 1),
    ],
)
def test_an_address_that_other_hosts_reach_is_known(bind: str, network: int) -> None:
    assert told(bind, "yes", (7, 0)) == {"network": network, "guarded": 1, "open": 1}


def test_before_7_an_address_in_the_file_ends_the_protected_mode() -> None:
    assert told("0.0.0.0", "yes", (6, 2))["guarded"] == 0
    assert told("", "yes", (6, 2)) == {"network": 1, "guarded": 1, "open": 1}


@pytest.mark.parametrize(
    ("answer", "found"),
    [("PONG", 1.0), (CollectionFailed("NOAUTH Authentication required."), 0.0), (LoginRefused("max clients"), None)],
)
def test_an_account_of_its_own_tries_whether_a_stranger_is_let_in(answer: object, found: float | None) -> None:
    assert told("*", "no", (7, 0), answer, user="lutra").get("open") == found


def test_the_kernel_tells_of_the_process_what_this_account_may_read(tmp_path: Path) -> None:
    files = {
        "proc/7/limits": "Limit  Soft Limit  Hard Limit  Units\nMax open files    1024    4096   files\n",
        "proc/sys/vm/overcommit_memory": "1\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    told = {"files": 1024, "overcommit": 1, "huge_pages": 1}
    found = of_process(7, tmp_path)
    assert found is not None
    assert found.gauges == told
    for folder, gone in (("/data", 0), ("/data (deleted)", 1)):
        (tmp_path / "proc/7/cwd").unlink(missing_ok=True)
        (tmp_path / "proc/7/cwd").symlink_to(folder)
        found = of_process(7, tmp_path)
        assert found is not None
        assert found.gauges == {**told, "folder_gone": gone}
    assert of_process(None, tmp_path) is None
    assert of_process(8, tmp_path / "nowhere") is None


def test_a_server_whose_script_hangs_tells_its_version_and_role_and_that_it_is_busy() -> None:
    server = session({"INFO": CollectionFailed(BUSY), "HELLO": GREETING, "PING": CollectionFailed(BUSY)})
    sample = RedisTelemetry(server).sample(NOW, 0.0)
    assert sample.readings["state"].gauges == {"busy": 1.0}
    health = RedisHealth(server)
    health.ping()
    assert (health.identity().version, health.identity().role) == ("7.0.15", "primary")


def test_what_the_account_may_not_ask_is_asked_once() -> None:
    info = "redis_version:7.0.15\r\nrun_id:1\r\nrole:master\r\nconnected_clients:3\r\nmem_allocator:libc"
    refused = NotPermitted("NOPERM this user has no permissions to run the 'client|list' command")
    server = session({"INFO": info, "CLIENT LIST": refused, "CONFIG": []})
    telemetry = RedisTelemetry(server)
    problems = [telemetry.sample(NOW, at).problems for at in (0.0, 1.0)]
    assert [any("clients: NOPERM" in p for p in each) for each in problems] == [True, False]
    assert server.connection.asks.count("CLIENT LIST") == 1


def subscriber(taken: str, waits: int = 4096, flags: str = "P") -> str:
    return f"id=71 flags={flags} omem={waits} obl=0 oll=0 {taken} cmd=subscribe"


@pytest.mark.parametrize(
    ("lists", "found"),
    [
        ([subscriber("tot-net-out=9")] * 3, {"stuck_subscribers": 1, "stuck_s": 20, "stuck_subscriber": 71}),
        ([subscriber("tot-net-out=9"), *[subscriber("tot-net-out=12")] * 2], {"stuck_subscribers": 1, "stuck_s": 10}),
        ([subscriber(f"tot-net-out={n}") for n in (9, 10, 11)], {"stuck_subscribers": 0, "stuck_s": 0}),
        ([subscriber("tot-net-out=9", 0)] * 3, {"stuck_subscribers": 0, "stuck_s": 0}),
        ([subscriber("tot-net-out=9", flags="N")] * 3, {"stuck_subscribers": 0, "stuck_s": 0}),
        ([subscriber("lib-ver=")] * 3, None),
    ],
)
def test_a_subscriber_is_stuck_that_takes_nothing_while_output_waits(
    lists: list[str], found: dict[str, float] | None
) -> None:
    waiting: dict[str, clients.Unread] | None = {}
    for turn, text in enumerate(lists):
        waiting = clients.unread(text, waiting or {}, 10.0 * turn)
    told = None if waiting is None else clients.stuck(waiting, 20.0)
    assert told is None if found is None else told is not None and found.items() <= told.items()
