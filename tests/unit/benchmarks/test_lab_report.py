"""From rows to verdicts, tables and plots."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lab import report
from benchmarks.lab.studies import FEW, named
from benchmarks.lab.summary import Spread, aims, held, judged, standings, width

pytestmark = pytest.mark.thorough

DURABLE = named("mariadb-write_only-qps-durable")
ABOUT = {
    "step": "about",
    "kind": "about",
    "version": "10.11.19-MariaDB",
    "host": {"memory_bytes": 4 * 2**30, "cores": 2.0},
    "limits": {"read_iops": 3000, "write_iops": 800},
    "knobs": 32,
    "warmup_s": 20,
    "duration_s": 40,
}


def a_final(entrant: str, number: int, qps: float, p99_ms: float = 50.0, failure: str | None = None) -> dict[str, Any]:
    metrics = {} if failure else {"qps": qps, "p99_ms": p99_ms}
    row = {"step": f"{entrant}{number}", "kind": "final", "number": number, "threads": FEW, "entrant": entrant}
    pool = {"innodb_buffer_pool_size": 2**27 if entrant == "default" else 2**31}
    return {**row, "metrics": metrics, "failure": failure, "configuration": pool, "predictions": {}}


def a_forecast(metric: str, measured: float, low: float, high: float) -> dict[str, Any]:
    ends = {"median": (low + high) / 2, "low": low, "high": high}
    return {"session": "a", "known": 3, "metric": metric, "measured": measured, **ends, "code": "b"}


def a_trial(number: int, qps: float) -> dict[str, Any]:
    row = {"step": f"trial {number}", "kind": "trial", "number": number, "threads": FEW, "entrant": ""}
    more = {"origin": "improvement", "predictions": {}, "failure": None, "configuration": {}}
    return {**row, **more, "metrics": {"qps": qps, "p99_ms": 40.0}}


def finals(**qps: float) -> list[dict[str, Any]]:
    return [a_final(entrant, 1, value) for entrant, value in qps.items()]


def test_a_standing_is_the_median_of_the_rounds_that_gave_a_reading() -> None:
    rows = [a_final("default", n, q) for n, q in enumerate((10.0, 30.0, 20.0), 1)]
    rows.append(a_final("default", 4, 0.0, failure="driver_failed: it died"))
    seen = standings(rows)["default"]
    assert seen.qps == Spread(20.0, 10.0, 30.0)
    assert (seen.rounds, seen.failed) == (4, 1)
    assert standings(rows, threads=32) == {}


def test_an_aim_that_is_missed_is_told_as_missed() -> None:
    rows = finals(default=100, two_knobs=500, rule_based=700, lutra_10=600, lutra_20=600)
    told = judged(DURABLE, rows)
    assert told[0] == "QPS gained, as a share of what the better start gains: 0.83, wanted at least 0.9: **missed**"
    assert told[1] == "QPS, times the default's: 6.00, wanted at least 2: met"


def test_nothing_is_judged_before_everything_was_measured() -> None:
    assert judged(DURABLE, finals(default=100, two_knobs=500, rule_based=700, lutra_10=600)) == []


@pytest.mark.parametrize(("stance", "most"), [("relaxed", 0.6), ("durable", 1.0)])
def test_a_better_p99_must_not_cost_throughput(stance: str, most: float) -> None:
    p99, qps = aims(named(f"mariadb-write_only-p99-{stance}"))
    assert (p99.bound, p99.ceiling, qps.bound) == (most, True, 1.0)
    rows = finals(default=100, two_knobs=90, rule_based=90, lutra_20=99)
    assert p99.met(standings(rows)) is (most == 1.0)
    assert not qps.met(standings(rows))


def test_other_engines_are_measured_without_aims() -> None:
    assert aims(named("mysql-write_only-qps-durable")) == aims(named("postgresql-tpcb-like-p99-durable")) == ()


def test_an_interval_holds_what_lies_on_its_ends() -> None:
    assert held([a_forecast("qps", 5.0, 5.0, 9.0), a_forecast("qps", 9.1, 5.0, 9.0)]) == 1


def test_an_interval_without_a_positive_end_is_as_wide_as_can_be() -> None:
    assert width([a_forecast("qps", 5.0, 0.0, 9.0)]) == math.inf
    assert width([a_forecast("qps", 5.0, 5.0, 10.0)]) == 2.0


@pytest.mark.slow
def test_a_study_that_is_under_way_has_its_page_and_plots(tmp_path: Path) -> None:
    rows = [ABOUT, a_trial(1, 120.0), a_trial(2, 90.0)]
    write(tmp_path, rows)
    forecasts = [a_forecast("tps", 120.0, 100.0, 150.0), a_forecast("qps", 90.0, 100.0, 150.0)]
    (tmp_path / report.FORECASTS).write_text("".join(json.dumps({**f, "known": 4}) + "\n" for f in forecasts))
    written = report.write(tmp_path, tmp_path)
    page = (tmp_path / "RESULTS.md").read_text()
    assert "The final rounds are still to come." in page
    assert "Not run yet" in page
    assert "`mysql-write_only-qps-durable`" in page
    assert "| all | 1 of 2 | 50% | 1.5 | 0 of 0 | – | – |" in page
    assert all(path.exists() for path in written)
    assert all(path.name in page for path in written[1:])


def test_a_page_names_what_was_changed_as_people_write_it(tmp_path: Path) -> None:
    write(tmp_path, [ABOUT, *finals(default=100, two_knobs=500, rule_based=700, lutra_10=600, lutra_20=1000)])
    report.write(tmp_path, tmp_path)
    page = (tmp_path / "RESULTS.md").read_text()
    assert "| `innodb_buffer_pool_size` | 128MB | 2GB |" in page
    assert "| Lutra, 20 trials | 1,000 | 10.00 | 50.0 | 1.00 |" in page


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / f"{DURABLE.name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
