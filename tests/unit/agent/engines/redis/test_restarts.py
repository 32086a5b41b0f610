"""A restart by the agent keeps the data, whatever the live server and its file say of where they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.engines.redis.sources.source import why_lost
from lutra_agent.errors import ApplyRefused

from tests.support.agent.directed import Directed
from tests.support.fakes.engine import HOST
from tests.support.fakes.redis import FakeRedis, directed_redis

KEYS = 100


def with_keys(folder: Path, text: str = "") -> tuple[FakeRedis, Directed]:
    redis, agent = directed_redis(folder, text)
    redis.write(KEYS)
    return redis, agent


def undo(agent: Directed) -> None:
    change = agent.changes.watched
    assert change is not None
    agent.executor().undo(change, "guardrail", "p99")


def test_a_restart_that_keeps_the_data_is_made(tmp_path: Path) -> None:
    redis, agent = with_keys(tmp_path)
    outcome = agent.do({"io-threads": 4})
    assert (outcome.state, outcome.restarted, redis.keys) == ("applied", True, KEYS)


def test_the_append_only_file_is_whole_before_a_restart_that_starts_from_it(tmp_path: Path) -> None:
    redis, agent = with_keys(tmp_path)
    outcome = agent.do({"appendonly": "yes", "io-threads": 4})
    assert (outcome.state, outcome.restarted, redis.keys) == ("applied", True, KEYS)
    undo(agent)
    assert (redis.live["appendonly"], redis.keys) == ("no", KEYS)


def test_an_undo_starts_from_no_append_only_file_of_the_time_before_the_change(tmp_path: Path) -> None:
    redis, agent = with_keys(tmp_path, "appendonly yes\n")
    assert agent.do({"appendonly": "no", "io-threads": 4}).state == "applied"
    redis.write(1000)
    undo(agent)
    assert (redis.live["appendonly"], redis.live["io-threads"], redis.keys) == ("yes", "1", KEYS + 1000)


def test_a_change_after_which_nothing_is_kept_is_undone_before_its_restart(tmp_path: Path) -> None:
    redis, agent = with_keys(tmp_path, 'appendonly yes\nsave ""\n')
    outcome = agent.do({"appendonly": "no", "io-threads": 4})
    assert (outcome.state, outcome.code) == ("reverted", "restart_not_allowed")
    assert "a restart would lose data" in outcome.message
    assert (redis.starts, redis.keys, redis.live["appendonly"]) == (1, KEYS, "yes")


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ('save ""\nappendonly no\n', {"appendonly": "yes"}),
        ("appendonly yes\n", {"appendonly": "no"}),
        ("", {"save": ""}),
        ("include other.conf\n", {}),
    ],
)
def test_what_the_file_would_start_without_is_never_restarted(tmp_path: Path, text: str, live: dict[str, str]) -> None:
    redis, agent = directed_redis(tmp_path, text)
    for name, value in live.items():
        redis.ask("CONFIG", "SET", name, value)
    redis.write(KEYS)
    assert agent.engine.server(HOST).settings["io-threads"].applies == "fixed"
    assert agent.do({"io-threads": 4}).state == "refused"
    assert redis.keys == KEYS


def test_an_undo_waits_while_its_restart_would_lose_data(tmp_path: Path) -> None:
    redis, agent = with_keys(tmp_path)
    agent.do({"io-threads": 4})
    redis.ask("CONFIG", "SET", "save", "")
    with pytest.raises(ApplyRefused, match="a restart would lose data: it would start from a snapshot"):
        undo(agent)
    assert (redis.keys, redis.live["io-threads"], redis.starts) == (KEYS, "4", 2)
    assert agent.changes.in_hand is not None
    redis.ask("CONFIG", "SET", "save", "3600 1")
    outcome = agent.executor().recover()
    assert outcome is not None
    assert (outcome.state, redis.keys, redis.live["io-threads"]) == ("reverted", KEYS, "1")


def test_a_server_that_died_starts_from_the_data_that_its_file_names(tmp_path: Path) -> None:
    """Its append-only file has what its last snapshot has not; the undo turns it off once the server is up."""
    redis, agent = with_keys(tmp_path, "requirepass old\n")
    agent.do({"appendonly": "yes", "maxmemory-samples": 10})
    redis.write(1000)
    redis.file.write_text(redis.file.read_text().replace("old", "new") + "replicaof 10.0.0.2 6379\n")
    redis.up = False
    undo(agent)
    assert (redis.keys, redis.live["appendonly"], redis.live["maxmemory-samples"]) == (KEYS + 1000, "no", "5")
    assert redis.file.read_text() == "requirepass new\nreplicaof 10.0.0.2 6379\n"


def test_a_file_that_keeps_the_server_down_comes_back_whole_but_for_where_the_data_are(tmp_path: Path) -> None:
    redis, agent = with_keys(tmp_path, "hz 20\n")
    agent.do({"appendonly": "yes"})
    redis.file.write_text(redis.file.read_text() + "broken yes\n")
    redis.up = False
    undo(agent)
    assert (redis.keys, redis.live["appendonly"]) == (KEYS, "no")
    assert redis.file.read_text() == "hz 20\n"


def test_a_server_that_cannot_save_is_undone_all_the_same(tmp_path: Path) -> None:
    """It answers a PING by MISCONF, refuses writes, and takes CONFIG SET."""
    redis, agent = with_keys(tmp_path, "maxmemory 1000000\n")
    agent.do({"maxmemory": 4000000000})
    redis.cannot_save = True
    undo(agent)
    assert redis.live["maxmemory"] == "1000000"


@pytest.mark.parametrize(
    ("live", "file", "state", "why"),
    [
        ({"dir": "/data"}, {"dir": "/elsewhere"}, {}, "names different data than the running server: dir"),
        ({"dir": "/data", "dbfilename": "a.rdb"}, {"dbfilename": "b.rdb", "dir": "."}, {}, "dbfilename"),
        ({}, {}, {"rdb_last_bgsave_status": "err"}, "its snapshot cannot be written"),
        ({"appendonly": "yes"}, {"appendonly": "YES"}, {"aof_last_write_status": "err"}, "its append-only file cannot"),
        ({"appendonly": "yes"}, {"include": "x"}, {}, ""),
        ({"appendonly": "yes"}, {"appendonly": "yes"}, {}, ""),
    ],
)
def test_what_a_restart_would_lose(live: dict[str, str], file: dict[str, str], state: dict[str, str], why: str) -> None:
    found = why_lost({"appendonly": "no", "save": "3600 1", **live}, file, state)
    assert why in found
    assert bool(why) == bool(found)


def test_pika_keeps_its_data_without_either() -> None:
    assert why_lost({"timeout": "60"}, {}, {}) == ""
    newer = {"db-path": "./db/", "appendonly": "no", "save": ""}  # from 3.5 on it answers these, too
    assert why_lost(newer, {}, {}) == ""
