from __future__ import annotations

from collections import Counter

from lutra_lab.drivers.pgbench import parse_log
from lutra_lab.drivers.progress import MOST_INTERVALS, interval_s, low, pgbench_rates, sysbench_rates

LINE = "[ {end}s ] thds: 8 tps: {tps} qps: 900.00 (r/w/o: 1.00/2.00/3.00) lat (ms,99%): 9.1 err/s: 0.00 reconn/s: 0.00"


def test_the_intervals_of_the_warm_up_are_left_out() -> None:
    lines = [LINE.format(end=end, tps=float(end)) for end in range(1, 6)]
    output = "\n".join([*lines[:2], "[ 2s ] Checkpoint report:", "    transactions: 9 (9.00 per sec.)", *lines[2:], ""])
    assert sysbench_rates(output, 2.0) == [3.0, 4.0, 5.0]
    assert sysbench_rates(output, 2.0, "qps") == [900.0] * 3
    assert sysbench_rates("FATAL: unable to connect", 2.0) == []


def test_pgbench_prints_where_it_is_and_a_line_that_is_not_complete_says_nothing() -> None:
    lines = [f"progress: {end}.0 s, {100 * end}.5 tps, lat 1.2 ms stddev 0.4, 0 failed\n" for end in range(1, 6)]
    output = "".join(["pgbench (16.4)\n", *lines, "progress: 6.0 s, 60"])
    assert pgbench_rates(output, 2.0) == [300.5, 400.5, 500.5]
    assert pgbench_rates("progress: 10.0 s, 7.0 tps, lat\nprogress: 20.0 s, 8.0 tps, lat\n", 10.0) == [8.0]
    assert pgbench_rates("pgbench: error: no such server", 2.0) == []


def test_what_can_be_relied_on_is_the_tenth_percentile_of_enough_intervals() -> None:
    assert low([100.0] * 18 + [5.0, 6.0]) == {"tps_low": 6.0}
    assert low([100.0] * 9) == {}


def test_a_run_prints_a_bounded_number_of_intervals() -> None:
    assert interval_s(70.0) == 1
    assert 86_400 / interval_s(86_400.0) <= MOST_INTERVALS


def test_a_transaction_counts_in_the_second_in_which_it_ended() -> None:
    seconds: Counter[int] = Counter()
    parse_log(["0 1 500 0 100 0", "0 2 500 0 100 900000", "0 3 500 0 102 1", "0 4 500 0 103 0"], 100.0, 103.0, seconds)
    assert seconds == {0: 2, 2: 1}
