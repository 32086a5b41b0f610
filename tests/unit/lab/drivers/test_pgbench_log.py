from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lutra_lab.drivers.pgbench import parse_log


def test_only_transactions_that_ended_within_the_window_count() -> None:
    lines = [
        "0 1 500 0 99 999999",
        "0 2 1000 0 100 0",
        "1 1 3000 0 104 999999 17",
        "1 2 9000 0 105 0",
    ]
    latencies, failed = parse_log(lines, 100.0, 105.0)
    assert (len(latencies), failed) == (2, 0)
    assert latencies.percentile_ms(100) == 3.0


def test_failed_and_skipped_transactions_are_counted_apart_from_latencies() -> None:
    lines = ["0 1 failed 0 100 5", "0 2 skipped 0 100 6", "0 3 serialization 0 100 7", "0 4 800 0 100 8"]
    latencies, failed = parse_log(lines, 100.0, 101.0)
    assert (len(latencies), failed) == (1, 3)


def test_a_line_that_was_cut_short_is_left_out() -> None:
    assert parse_log(["0 1 500 0 100"], 0.0, 1000.0)[1] == 0


@given(st.lists(st.text(max_size=40), max_size=20))
def test_parsing_a_log_is_total(lines: list[str]) -> None:
    latencies, failed = parse_log(lines, 0.0, 1e12)
    assert len(latencies) >= 0
    assert failed >= 0
