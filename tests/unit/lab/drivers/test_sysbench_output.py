from __future__ import annotations

import pytest
from lutra_agent.errors import DriverFailed
from lutra_lab.drivers.sysbench import parse

SUMMARY = """
SQL statistics:
    transactions:                        {count} ({tps} per sec.)
    queries:                             4000   ({qps} per sec.)
    ignored errors:                      2      (0.40 per sec.)
Latency (ms):
         min:                                    0.01
         avg:                                    {avg}
         max:                                   36.91
         99th percentile:                        {p99}
Threads fairness:
    events (avg/stddev):           60970.5000/6816.72
    execution time (avg/stddev):   2.9899/0.00
"""


def test_the_warm_up_printed_at_the_checkpoint_is_left_out() -> None:
    warmup = SUMMARY.format(count=9, tps=9.0, qps=90.0, avg=99.0, p99=999.0)
    window = SUMMARY.format(count=200, tps=40.0, qps=800.0, avg=1.5, p99=7.25)
    assert parse("[ 2s ] Checkpoint report:" + warmup + window) == {
        "tps": 40.0,
        "qps": 800.0,
        "failed_tps": 0.4,
        "p99_ms": 7.25,
        "mean_ms": 1.5,
    }


def test_an_output_without_figures_says_what_is_missing() -> None:
    with pytest.raises(DriverFailed, match="printed no tps, qps"):
        parse("FATAL: unable to connect")


def test_a_window_without_events_is_no_measurement() -> None:
    with pytest.raises(DriverFailed, match="completed no event"):
        parse(SUMMARY.format(count=0, tps="0.00", qps="0.00", avg="0.00", p99="0.00"))
