"""One pass of the analytical queries, made into one measurement."""

from __future__ import annotations

import pytest

from benchmarks.lab.race.gotpch import LONGEST_S, QUERIES, arguments, summary

pytestmark = pytest.mark.thorough


def printed(**seconds: str) -> str:
    lines = [f"[Current] {name.upper()}: 9.99s" for name in QUERIES]
    lines += [f"[Summary] {name.upper()}: {seconds.get(name, '1.50')}s" for name in QUERIES if name not in seconds]
    return "\n".join([*lines, *(f"[Summary] {name.upper()}: {value}s" for name, value in seconds.items())])


def test_a_pass_is_its_time_and_that_of_every_query() -> None:
    seen = summary(printed(q9="12.25"), 2, 44.0)
    assert (seen["qps"], seen["pass_s"], seen["failed"]) == (1.0, 44.0, 0)
    assert (seen["q9_s"], seen["q1_s"], seen["p99_ms"]) == (12.25, 1.5, 12250)


def test_a_query_that_was_ended_took_as_long_as_it_may_and_answered_nothing() -> None:
    seen = summary(printed().replace("[Summary] Q7:", "[Summary] Q7_ERR:"), 1, 42.0)
    assert (seen["failed"], seen["qps"], seen["p99_ms"]) == (1, 0.5, LONGEST_S * 1000)
    assert "q7_s" not in seen


def test_a_query_that_nothing_is_known_of_makes_no_measurement() -> None:
    with pytest.raises(ValueError, match="q7"):
        summary(printed().replace("[Summary] Q7:", "Q7"), 1, 42.0)


def test_each_stream_executes_every_query_once() -> None:
    where = {f"LUTRA_{n}": n.lower() for n in ("HOST", "PORT", "USER", "DBNAME")}
    argv = arguments(where, 4, ["tpch", "run"])
    assert argv[argv.index("--count") + 1] == str(4 * len(QUERIES))
    assert argv[argv.index("-T") + 1] == "4"
