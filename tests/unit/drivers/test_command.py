from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.drivers import Driver, build
from lutra_agent.drivers.base import utc
from lutra_agent.drivers.command import parse, progress
from lutra_agent.drivers.ending import Progress
from lutra_agent.drivers.process import Finished
from lutra_agent.errors import ConfigError, DriverFailed
from lutra_models.ending import Level

from tests.support.databases import Where

GOOD = {"tps": 812.5, "qps": 4062, "p99_ms": 31.2, "p99_of": "transaction", "statement": "checkout"}


def driver(code: str, engine: str = "postgresql", **more: object) -> Driver:
    config = {"kind": "command", "command": [sys.executable, "-c", code], "warmup_s": 0, "duration_s": 1, **more}
    return build(config, Where(secret="hush", engine=engine))


def test_what_the_command_prints_on_its_last_line_is_the_measurement() -> None:
    measured = driver(f"print('loading …'); print('''{json.dumps(GOOD)}''')").run()
    assert measured.metrics == {"tps": 812.5, "qps": 4062.0, "p99_ms": 31.2}
    assert (measured.p99_of, measured.statement) == ("transaction", "checkout")


@pytest.mark.parametrize(("engine", "variable"), [("postgresql", "PGPASSWORD"), ("mysql", "MYSQL_PWD")])
def test_the_command_learns_where_and_how_long_and_the_password_by_its_environment(engine: str, variable: str) -> None:
    code = (
        "import os, json, sys; e = os.environ; assert 'hush' not in ' '.join(sys.argv);"
        f"assert {{n: v for n, v in e.items() if v == 'hush'}} == {{'{variable}': 'hush'}};"
        "print(json.dumps({'tps': float(e['LUTRA_PORT']), 'statement': e['LUTRA_DBNAME'] + e['LUTRA_DURATION_S']}))"
    )
    measured = driver(code, engine=engine).run()
    assert measured.metrics == {"tps": 5432.0}
    assert measured.statement == "somewhere1"


def test_the_callbacks_enclose_the_measured_part() -> None:
    seen: list[str] = []
    driver(f"print('''{json.dumps(GOOD)}''')").run(lambda: seen.append("start"), lambda: seen.append("end"))
    assert seen == ["start", "end"]


def test_a_failing_command_is_quoted_with_its_last_words() -> None:
    with pytest.raises(DriverFailed, match=r"exit 3: (?s:.*)no route to the shop"):
        driver("import sys; print('no route to the shop', file=sys.stderr); sys.exit(3)").run()


def test_a_missing_program_is_named() -> None:
    absent = build({"kind": "command", "command": ["/nowhere/load"]}, Where())
    with pytest.raises(DriverFailed, match="/nowhere/load: No such file"):
        absent.run()


@pytest.mark.slow
def test_a_command_that_ends_within_its_warm_up_measured_nothing() -> None:
    with pytest.raises(DriverFailed, match="ended within its 5 s of warm-up"):
        driver(f"print('''{json.dumps(GOOD)}''')", warmup_s=5).run()


@pytest.mark.slow
def test_a_command_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import pathlib, subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(child.pid)); time.sleep(600)"
    )
    with pytest.raises(DriverFailed, match="was killed"):
        driver(code, grace_s=1).run()
    psutil.wait_procs([p for p in psutil.process_iter() if p.pid == int(pid_file.read_text())], timeout=10)
    assert not psutil.pid_exists(int(pid_file.read_text()))


@pytest.mark.parametrize(
    "said",
    [
        "",
        "12",
        "{}",
        '{"tps": "many"}',
        '{"tps": -1}',
        '{"tps": NaN}',
        '{"tps": true}',
        '{"p99_ms": 3}',
        '{"tps": 1, "p99_of": "page"}',
        '{"tps": 1, "window_start": 5, "window_end": 6}',
        '{"tps": 1, "window_end": 1e17}',
    ],
)
def test_what_is_no_measurement_is_refused(said: str) -> None:
    with pytest.raises(DriverFailed):
        parse(Finished(100.0, 110.0, said), 0.0, "load")


@pytest.mark.parametrize("key", ["p95 (ms)", "", "5xx", "größe", "x" * 129])
def test_a_metric_whose_name_no_report_takes_is_refused_by_its_name(key: str) -> None:
    with pytest.raises(DriverFailed, match=re.escape(repr(key))):
        parse(Finished(100.0, 110.0, json.dumps({"tps": 1, key: 2})), 0.0, "load")


def test_a_window_that_a_command_ends_a_moment_after_its_own_end_is_cut_there() -> None:
    measured = parse(Finished(100.0, 110.0, '{"tps": 1, "window_start": 101, "window_end": 110.9}'), 0.0, "load")
    assert (measured.window_start, measured.window_end) == (utc(101.0), utc(110.0))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["tps", "qps", "p99_ms", "p99_of", "statement", "window_start", "window_end", "x"])


@given(st.text(max_size=60) | st.dictionaries(KEYS, ANYTHING, max_size=5).map(json.dumps))
def test_parsing_is_total_and_trusts_only_finite_numbers(said: str) -> None:
    try:
        measured = parse(Finished(100.0, 110.0, said), 1.0, "load")
    except DriverFailed:
        return
    assert all(0 <= v <= 1e18 for v in measured.metrics.values())


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({}, "driver.kind is missing: one of pgbench, sysbench, redis-benchmark, command"),
        ({"kind": "ab"}, "'ab' is not one of pgbench, sysbench, redis-benchmark, command"),
        ({"kind": "command"}, "driver.command is missing"),
        ({"kind": "pgbench", "client": 3}, "unknown: driver.client"),
        ({"kind": "pgbench", "clients": 2, "threads": 3}, "driver.threads: 3 is outside"),
        (
            {"kind": "pgbench", "script": "/nowhere.sql"},
            "none of tpcb-like, simple-update, select-only and no readable",
        ),
        ({"kind": "sysbench", "distribution": "odd"}, "'odd' is not one of uniform"),
    ],
)
def test_a_driver_section_that_makes_no_sense_names_its_key(config: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        build(config, Where())


def parts(tps: float, s: float, last: str = "") -> str:
    """A program that prints forty parts of a window at once, and ends so many seconds later."""
    line = json.dumps({"interval_s": 1, "tps": tps})
    return f"import time; print({line!r} + chr(10), end='', flush=True); " + "".join(
        [f"print(chr(10).join([{line!r}] * 39), flush=True); time.sleep({s}); ", last]
    )


def test_a_window_that_cannot_come_to_its_level_is_ended_and_has_a_bound_and_no_figures() -> None:
    seen: list[str] = []
    slow = driver(parts(100.0, 60), duration_s=60, warmup_s=0.2)
    measured = slow.run(lambda: seen.append("start"), lambda: seen.append("end"), Level("tps", "maximize", 900.0))
    assert seen == ["start", "end"]
    assert measured.metrics == {}
    assert measured.ended is not None
    assert (measured.ended.metric, measured.ended.planned_s) == ("tps", 60.0)
    assert 100.0 <= measured.ended.bound <= 900.0
    assert (measured.window_end - measured.window_start).total_seconds() < 60


@pytest.mark.parametrize(
    ("level", "tps"),
    [
        (Level("tps", "maximize", 90.0), 100.0),
        (Level("qps", "maximize", 9e6), 100.0),
        (Level("p99_ms", "minimize", 0.1), 1.0),
    ],
)
def test_one_that_comes_to_it_or_says_nothing_of_it_is_measured_to_its_end(level: Level, tps: float) -> None:
    measured = driver(parts(tps, 1.5, f"print({json.dumps(GOOD)!r})"), duration_s=2).run(must_reach=level)
    assert measured.ended is None
    assert measured.metrics["tps"] == 812.5


def test_parts_are_lines_that_are_complete_and_of_one_length() -> None:
    lines = "".join(
        [
            json.dumps({"interval_s": 5, "tps": 10}) + "\n",
            "loading\n",
            json.dumps({"interval_s": 5, "qps": 1}) + "\n",
            json.dumps({"interval_s": 5, "tps": 12.5}) + "\n",
        ]
    )
    assert progress(lines + json.dumps({"interval_s": 5, "tps": 9}), "tps") == Progress([10.0, 12.5], 5.0)
    assert progress(lines + json.dumps({"interval_s": 1, "tps": 9}) + "\n", "tps") is None
    huge = '{"interval_s": 1' + 400 * "0" + ', "tps": 9}\n'
    for nothing in (
        "{}\n[]\n{\n",
        json.dumps({"interval_s": 0, "tps": 9}) + "\n",
        '{"interval_s": 5e-324, "tps": 9}\n',
        huge,
    ):
        assert progress(nothing, "tps") is None
