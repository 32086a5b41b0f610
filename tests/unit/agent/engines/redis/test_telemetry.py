"""The probe, the server's own histogram, and which server it is that answers."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from lutra_agent.engines.common.telemetry import Sample
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import PRODUCTS, Session, parsed
from lutra_agent.engines.redis.telemetry import probe, telemetry
from lutra_agent.engines.redis.telemetry.telemetry import Counted, RedisTelemetry, _readings
from lutra_agent.errors import ConfigError

DATABASE = RedisDatabase(engine="redis", host="127.0.0.1", port=1)
ANSWERS = {
    "redis": "redis_version:7.0.15\r\nexecutable:/usr/bin/redis-server",
    "valkey": "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2",
    "pika": "pika_version:3.3.6\r\ndb0 Strings_keys=0, expires=0",
}
STRANGERS = (
    "redis_version:7.4.0\r\ndragonfly_version:df-v1.27",
    "redis_version:6.3.4\r\nexecutable:/usr/bin/keydb-server",
    "kvrocks_version:2.10\r\nredis_version:4.0.0",
    "",
)


@pytest.mark.parametrize("name", PRODUCTS)
def test_each_server_is_told_from_the_others_by_its_own_answers(name: str) -> None:
    session = Session(DATABASE, PRODUCTS[name])
    assert session._version(parsed(ANSWERS[name]))[0].isdigit()
    for other in [*(a for n, a in ANSWERS.items() if n != name), *STRANGERS]:
        with pytest.raises(ConfigError, match=f"database.engine = '{name}', but the server"):
            session._version(parsed(other))


class FakeConnection:
    asked = 0

    def __init__(self) -> None:
        self.words: list[tuple[str, ...]] = []

    def ask(self, *words: str) -> str:
        self.words.append(words)
        return "OK"


def test_the_probe_writes_and_reads_keys_of_its_own_in_turn_and_times_each() -> None:
    moments = iter(range(1000))
    fake: Any = FakeConnection()
    one = probe.Probe(fake, 10, timer=lambda: next(moments) / 1000)
    for _ in range(4):
        one.once()
    assert [w[0] for w in fake.words] == ["SET", "GET", "SET", "GET"]
    assert {w[1] for w in fake.words} == {one._key}
    assert one._key.startswith("lutra:probe:")
    assert one.timed() == {1000: 4}


def test_fewer_than_a_hundred_readings_have_no_p99() -> None:
    before = Counter({100: 1000})
    slow = Counter({100: 1097, 20_000: 2})
    assert probe.p99_ms(before, slow) is None
    slow[100] += 1
    assert probe.p99_ms(before, slow) == 20.0
    assert probe.p99_ms(before, before) is None


def test_the_servers_histogram_is_read_as_a_difference_of_all_its_commands() -> None:
    old = telemetry.histogram_in(["get", ["calls", 10, "histogram_usec", [1, 8, 2, 10]]])
    new = telemetry.histogram_in(
        ["get", ["calls", 110, "histogram_usec", [1, 8, 2, 110]], "set", ["calls", 10, "histogram_usec", [16, 10]]]
    )
    assert new == {1.0: 8, 2.0: 102, 16.0: 10}
    found = telemetry.p99_ms(old, new)
    assert found is not None
    assert 0.002 < found <= 0.016
    assert telemetry.p99_ms(new, old) is None
    assert telemetry.histogram_in("nonsense") == telemetry.histogram_in([1, 2, 3]) == {}


def share(**grew: int) -> float | None:
    """Of errors, in ten seconds with 1,000 commands of clients in which the lines of INFO grew so much."""
    base = {"total_commands_processed": "500", "total_error_replies": "70", "rejected_connections": "3"}
    before = {**base, "errorstat_ERR": "count=60", "errorstat_OOM": "count=10"}
    after = {**before, "total_commands_processed": "1500", "evicted_clients": "0"}
    for line, more in grew.items():
        was = int(before.get(line, "0").rpartition("=")[2])
        after[line] = f"count={was + more}" if line.startswith("errorstat_") else str(was + more)
    samples = (Sample(NOW, at, _readings(info), Counted(0)) for at, info in ((0.0, before), (10.0, after)))
    session: Any = None
    return RedisTelemetry(session).targets(*samples).metrics.get("error_share")


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("error", ["OOM", "MISCONF", "NOREPLICAS", "READONLY", "LOADING", "BUSY"])
def test_what_the_server_refuses_is_an_error_also_at_its_first_time(error: str) -> None:
    assert share(**{f"errorstat_{error}": 100, "total_error_replies": 100}) == 0.1


@pytest.mark.parametrize("error", ["ERR", "WRONGTYPE", "NOSCRIPT", "MOVED", "WRONGPASS", "EXECABORT"])
def test_what_is_wrong_with_a_command_is_no_error_of_the_server(error: str) -> None:
    assert share(**{f"errorstat_{error}": 300, "total_error_replies": 300}) == 0.0


def test_a_client_that_the_server_has_no_room_for_is_an_error() -> None:
    assert share(rejected_connections=50) == 0.05


def test_the_largest_keys_are_told_by_the_powers_of_two_that_they_have_reached() -> None:
    sizes = {"db0_distrib_strings_sizes": "2=9,1K=1", "db3_distrib_strings_sizes": "512=1,16M=2"}
    found = _readings({**sizes, "db0_distrib_lists_items": "256K=1", "db0_distrib_hashes_items": "1=5,nonsense=1"})
    assert found["largest"].gauges == {"string_bytes": 2.0**24, "items": 2.0**18, "sorted_items": 0.0}
    assert "largest" not in _readings({"db0": "keys=2,expires=0"})
