from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import IO

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.drivers import Driver, build, process
from lutra_agent.drivers.base import utc
from lutra_agent.drivers.command import parse, progress
from lutra_agent.drivers.ending import Progress
from lutra_agent.drivers.process import Finished
from lutra_agent.errors import ConfigError, DriverFailed
from lutra_models.ending import Level

from tests.support.servers.databases import Where
from tests.support.waiting import PATIENCE_S, until

GOOD = {"tps": 812.5, "qps": 4062, "p99_ms": 31.2, "p99_of": "transaction", "statement": "checkout"}


def driver(code: str, engine: str = "postgresql", **more: object) -> Driver:
    span = {"warmup_s": 0, "duration_s": 1, "grace_s": PATIENCE_S}
    config = {"kind": "command", "command": [sys.executable, "-c", code], **span, **more}
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
    with pytest.raises(DriverFailed, match=f"ended within its {PATIENCE_S:.0f} s of warm-up"):
        driver(f"print('''{json.dumps(GOOD)}''')", warmup_s=PATIENCE_S).run()


@pytest.mark.slow
def test_a_command_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    said = tmp_path / "pid"
    script = f"sleep 3600 & echo $! > {said}; wait"
    endless = driver("", command=["/bin/sh", "-c", script], grace_s=1)
    with pytest.raises(DriverFailed, match="was killed"):
        endless.run(lambda: until(lambda: said.exists() and said.read_text().endswith("\n")))
    until(lambda: not runs(int(said.read_text())))


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


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
        ({}, "driver.kind is missing: one of command, "),
        ({"kind": "ab"}, r"'ab' is not one of command, .*; the distribution lutra-lab brings drivers"),
        ({"kind": "command"}, "driver.command is missing"),
        ({"kind": "pgbench", "client": 3}, "unknown: driver.client"),
        ({"kind": "pgbench", "clients": 2, "threads": 3}, "driver.threads: 3 is outside"),
        (
            {"kind": "pgbench", "script": "/nowhere.sql"},
            "is not one of tpcb-like, simple-update, select-only and no readable",
        ),
        ({"kind": "sysbench", "distribution": "odd"}, "'odd' is not one of uniform"),
    ],
)
def test_a_driver_section_that_makes_no_sense_names_its_key(config: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        build(config, Where())


def parts(tps: float, then: Path) -> str:
    """A program that prints forty parts of a window at once, and what it measured once a file is there."""
    line = json.dumps({"interval_s": 1, "tps": tps})
    return (
        f"import os, time; print(({line!r} + chr(10)) * 40, end='', flush=True);"
        f"[time.sleep(0.01) for _ in iter(lambda: os.path.exists({str(then)!r}), True)]; print({json.dumps(GOOD)!r})"
    )


def test_a_window_that_cannot_come_to_its_level_is_ended_and_has_a_bound_and_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LOOK_S", 0.05)
    seen: list[str] = []
    slow = driver(parts(100.0, tmp_path / "never"), duration_s=60, warmup_s=0.2)
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
def test_one_that_comes_to_it_or_says_nothing_of_it_is_measured_to_its_end(
    level: Level, tps: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until all its parts were looked at, and looked at again: at those of a percentile nobody looks."""
    monkeypatch.setattr(process, "LOOK_S", 0.05)
    goes_on, looks = tmp_path / "goes on", 0
    really = process._so_far

    def looked(file: IO[bytes]) -> str:
        nonlocal looks
        found = really(file)
        if looks:
            goes_on.touch()
        looks += found.count("\n") == 40
        return found

    monkeypatch.setattr(process, "_so_far", looked)
    if level.metric == "p99_ms":
        goes_on.touch()
    measured = driver(parts(tps, goes_on), duration_s=PATIENCE_S).run(must_reach=level)
    assert measured.ended is None
    assert bool(looks) == (level.metric != "p99_ms")
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
