"""What is asked seldom: engines of tables, counters near their end, and how long a certificate is good."""

from __future__ import annotations

import pytest
from lutra_agent.engines.mysql.telemetry.collectors.base import AGAIN_S, EVERY_S, Collector
from lutra_agent.engines.mysql.telemetry.states import AUTO_INCREMENT, CERTIFICATE, ENGINES
from lutra_agent.engines.mysql.telemetry.work import SCANS
from lutra_agent.errors import CollectionFailed

from tests.support.fakes.mysql import FakeConnection

VERSIONS = ("9.7.4", "5.5.5-10.11.6-MariaDB")
ASKED = ("SELECT /*+ MAX_EXECUTION_TIME(100) */ ", "SET STATEMENT max_statement_time = 0.1 FOR SELECT ")
CUT = CollectionFailed("Query execution was interrupted, maximum statement execution time exceeded [3024]")


def told(collector: Collector, connection: FakeConnection, up_s: float) -> dict[str, float] | None:
    found = collector.read(connection, {"Uptime": str(up_s)})  # type: ignore[arg-type]
    return None if found is None else dict(found.gauges)


@pytest.mark.parametrize("version", VERSIONS)
def test_tables_are_looked_through_every_ten_minutes_and_within_a_limit(version: str) -> None:
    start = ASKED[VERSIONS.index(version)]
    connection = FakeConnection({start: {"myisam": 2, "aria": 0}}, version=version)
    for up_s in (100.0, 100.0 + EVERY_S - 1, 100.0 + EVERY_S):
        assert told(ENGINES, connection, up_s) == {"myisam": 2.0, "aria": 0.0}
    assert len(connection.asked) == 2


def test_where_the_account_sees_no_table_nothing_is_known_of_their_engines() -> None:
    assert told(ENGINES, FakeConnection({ASKED[0]: {"myisam": None, "aria": None}}), 5.0) is None


def test_a_look_that_the_server_cut_off_is_none_and_is_taken_again_an_hour_later() -> None:
    connection = FakeConnection({ASKED[0]: CUT})
    assert told(AUTO_INCREMENT, connection, 5.0) is None
    connection.answers[ASKED[0]] = {"used_share": 0.98, "near_end": 1}
    assert told(AUTO_INCREMENT, connection, 5.0 + AGAIN_S - 1) is None
    assert told(AUTO_INCREMENT, connection, 5.0 + AGAIN_S) == {"used_share": 0.98, "near_end": 1.0}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_statement_that_scans_most_is_told_by_its_form(version: str) -> None:
    form = "shop: SELECT * FROM `orders` WHERE `order_no` = ?"
    connection = FakeConnection({ASKED[VERSIONS.index(version)]: {"statement": form}}, version=version)
    found = SCANS.read(connection, {"Uptime": "7"})  # type: ignore[arg-type]
    assert found is not None
    assert (found.gauges, found.texts) == ({}, {"statement": form})
    assert SCANS.read(FakeConnection(version=version), {"Uptime": "7"}) is None  # type: ignore[arg-type]


def test_a_certificate_has_so_long_left_as_the_server_says_by_its_own_clock() -> None:
    connection = FakeConnection({"SELECT UNIX_TIMESTAMP()": [(1_800_000_000,)]})
    status = {"Ssl_server_not_after": "Jan 16 08:00:00 2027 GMT"}
    found = CERTIFICATE.read(connection, status)  # type: ignore[arg-type]
    assert found is not None
    assert found.gauges == {"left_s": 86_400.0}
    assert CERTIFICATE.read(connection, {"Ssl_server_not_after": ""}) is None  # type: ignore[arg-type]
