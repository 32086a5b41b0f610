"""What go-tpc prints, made into one measurement."""

from __future__ import annotations

import pytest

from benchmarks.lab.race.gotpc import Told, arguments, summary, told

pytestmark = pytest.mark.thorough

LINE = (
    "[Current] NEW_ORDER - Takes(s): 4.9, Count: 210, TPM: 2571.4, Sum(ms): 17731.4, Avg(ms): 51.3, 50th(ms): 35.7, "
    "90th(ms): 88.1, 95th(ms): 151.0, 99th(ms): 369.1, 99.9th(ms): 906.0, Max(ms): 1208.0"
)


def test_a_line_is_dated_by_when_it_came() -> None:
    assert told(LINE, 5.02) == Told(0, "NEW_ORDER", 210, 369.1)
    assert told(LINE, 14.9) == Told(2, "NEW_ORDER", 210, 369.1)


def test_other_lines_say_nothing() -> None:
    assert told(LINE.replace("[Current]", "[Summary]"), 5.0) is None
    assert told("execute run failed, err EOF", 5.0) is None


def test_the_warm_up_and_what_comes_after_the_window_do_not_count() -> None:
    lines = [Told(0, "NEW_ORDER", 999, 9.0), Told(1, "NEW_ORDER", 50, 100.0), Told(2, "NEW_ORDER", 150, 300.0)]
    lines += [Told(2, "PAYMENT", 100, 20.0), Told(2, "PAYMENT_ERR", 5, 20.0), Told(3, "PAYMENT", 999, 9.0)]
    seen = summary(lines, 5, 10)
    assert seen == {
        "tps": 30.0,
        "new_orders_per_s": 20.0,
        "failed_tps": 0.5,
        "p99_ms": 250.0,
        "p99_of": "transaction",
        "statement": "new_order",
        "tps_1": 10.0,
        "tps_2": 50.0,
    }


def test_an_interval_in_which_nothing_ended_is_a_zero() -> None:
    seen = summary([Told(1, "NEW_ORDER", 50, 100.0)], 5, 15)
    assert [seen[f"tps_{n}"] for n in (1, 2, 3)] == [10.0, 0.0, 0.0]


def test_a_window_without_a_transaction_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="no transaction"):
        summary([Told(0, "NEW_ORDER", 50, 100.0)], 5, 10)


def test_a_deadlock_does_not_end_a_client() -> None:
    where = {f"LUTRA_{n}": n.lower() for n in ("HOST", "PORT", "USER", "DBNAME")}
    argv = arguments(where, "mysql", "16", 57.0, ["tpcc", "run"])
    assert "--ignore-error" in argv
    assert argv[argv.index("--time") + 1] == "57s"
