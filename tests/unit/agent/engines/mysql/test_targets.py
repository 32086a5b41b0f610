from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.engines.common.telemetry import Reading, Sample
from lutra_agent.engines.mysql.telemetry.collectors.counters import FAILURES
from lutra_agent.engines.mysql.telemetry.telemetry import TargetCounters, targets

from tests.support.fakes.mysql import FakeConnection

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def window(transactions: float | None = None, own: float = 0.0, **grew: dict[str, float]) -> dict[str, float]:
    """The targets of ten seconds in which the collectors' counters grew so much."""
    old = {name: Reading(dict.fromkeys(counters, 100.0)) for name, counters in grew.items()}
    new = {name: Reading({c: 100.0 + v for c, v in counters.items()}) for name, counters in grew.items()}
    counted = None if transactions is None else 50.0
    before = Sample(NOW, 0.0, old, TargetCounters(7.0, None, counted))
    after = Sample(
        NOW, 10.0, new, TargetCounters(7.0 + own, None, None if counted is None else counted + (transactions or 0.0))
    )
    return dict(targets(before, after).metrics)


def test_errors_are_a_share_of_the_transactions_that_ended() -> None:
    found = window(200.0, statements={"questions": 4000.0}, failures={"statements": 40.0})
    assert (found["tps"], found["error_share"]) == (20.0, 0.2)


def test_a_rollback_is_no_error() -> None:
    """A pool's reset ends by one whatever was only read."""
    assert window(200.0, statements={"questions": 400.0, "commit": 50.0, "rollback": 150.0})["error_share"] == 0.0


@pytest.mark.parametrize("limit", ["over_statement_time", "over_execution_time"])
def test_a_statement_that_its_time_limit_ended_is_an_error(limit: str) -> None:
    assert window(200.0, statements={"questions": 400.0, limit: 20.0})["error_share"] == 0.1


def test_where_no_transaction_is_counted_errors_are_a_share_of_the_statements_without_the_agents() -> None:
    found = window(own=20.0, statements={"questions": 420.0, "commit": 0.0}, innodb_metrics={"lock_deadlocks": 8.0})
    assert "tps" not in found
    assert (found["qps"], found["error_share"]) == (40.0, 0.02)


def test_a_load_without_errors_has_a_reading_and_an_idle_server_none() -> None:
    assert window(statements={"questions": 100.0})["error_share"] == 0.0
    assert "error_share" not in window(own=5.0, statements={"questions": 5.0})


@pytest.mark.parametrize("why", ["refused", "refused_internal", "refused_accept", "refused_select"])
def test_a_connection_that_the_server_refuses_is_an_error(why: str) -> None:
    assert window(statements={"questions": 100.0}, threads={why: 10.0})["error_share"] == 0.1


def test_a_wrong_password_is_the_clients_own_doing() -> None:
    assert window(statements={"questions": 100.0}, threads={"aborted_connects": 10.0})["error_share"] == 0.0


@pytest.mark.parametrize(
    ("refused", "share"), [(0.0, 0.12), (3.0, 0.12), (30.0, 0.3)], ids=["not counted", "some counted", "all counted"]
)
def test_mariadbs_refused_connections_are_what_is_left_of_the_aborted_ones(refused: float, share: float) -> None:
    aborted = {"aborted_connects": 20.0, "aborted_before_login": 3.0, "access_denied": 5.0}
    assert window(statements={"questions": 100.0}, threads={"refused": refused, **aborted})["error_share"] == share


def test_a_deadlock_is_one_of_the_failed_statements_where_these_are_counted() -> None:
    locks = {"lock_deadlocks": 3.0, "lock_timeouts": 2.0}
    found = window(100.0, statements={"questions": 100.0}, failures={"statements": 10.0}, innodb_metrics=locks)
    assert found["error_share"] == 0.1
    assert window(100.0, statements={"questions": 100.0}, innodb_metrics=locks)["error_share"] == 0.05


def test_where_nothing_ends_any_more_and_all_fails_the_share_is_one() -> None:
    assert window(0.0, statements={"questions": 0.0}, threads={"refused": 5.0})["error_share"] == 1.0


@given(*[st.floats(0, 1e9)] * 5)
def test_the_share_is_never_above_one(asked: float, ended: float, over: float, failed: float, refused: float) -> None:
    found = window(
        ended,
        statements={"questions": asked, "over_execution_time": over},
        failures={"statements": failed},
        threads={"refused": refused},
    )
    assert 0.0 <= found.get("error_share", 0.0) <= 1.0


def test_failed_statements_are_read_where_the_server_counts_them_by_number() -> None:
    counted = {"statements": 3, "denied": 70}
    on, off = ({"SELECT @@GLOBAL.performance_schema": [(v,)], "SELECT COALESCE": counted} for v in (1, 0))
    read = FAILURES.read(FakeConnection(on), {})  # type: ignore[arg-type]
    assert read is not None
    assert read.counters == counted
    assert FAILURES.read(FakeConnection(off), {}) is None  # type: ignore[arg-type]
    assert FAILURES.read(FakeConnection(on, version="10.11.19-MariaDB"), {}) is None  # type: ignore[arg-type]
