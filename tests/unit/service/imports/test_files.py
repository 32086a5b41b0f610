"""Files of measurements: what they mean, and where exactly a broken one is broken."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from lutra_client.commands.program import main
from lutra_models.errors import InvalidReport, NotEnoughObservations
from lutra_models.gp import fit
from lutra_models.history import Observation
from lutra_models.metrics import Objective
from lutra_models.server import Host
from lutra_service.app.errors import InvalidRequest
from lutra_service.app.workloads.imports import json_files, mapping, parse, raw, row_files
from lutra_service.app.workloads.imports.raw import Broken, RawRow
from lutra_service.app.workloads.imports.workload import Workload, history, sampled, unread_server
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store

from tests.support.service.application import migrated

LIVE = unread_server("postgresql", "16.4", Host(16 << 30, 8))
GOOD = "shared_buffers,work_mem,jit,tps\n1GB,4096,on,100.5\n2GB,8MB,off,\n"


def understood(
    rows: list[RawRow], told: str = "", objective: str = "tps", folder: Path | None = None
) -> list[Observation]:
    file = None
    if folder is not None:
        file = folder / "mapping.toml"
        file.write_text(told)
    meant = mapping.mapping_of(file)
    columns = mapping.columns(meant, rows, LIVE, objective)
    return parse.observations(rows, meant, columns, LIVE, objective)


def table(folder: Path, text: str) -> list[RawRow]:
    (folder / "t.csv").write_text(text)
    return row_files.read_csv(folder / "t.csv")


def test_columns_that_are_called_as_the_catalogue_calls_them_need_no_mapping(tmp_path: Path) -> None:
    first, second = understood(table(tmp_path, GOOD))
    assert dict(first.configuration) == {"shared_buffers": 131072, "work_mem": 4096, "jit": "on"}
    assert dict(first.metrics) == {"tps": 100.5}
    assert second.configuration["work_mem"] == 8192
    assert second.failure == "not_measured"


def test_a_mapping_names_columns_units_codes_and_failures(tmp_path: Path) -> None:
    rows = table(tmp_path, "id,k.work_mem,buffers,jit,state,lat\n1,4096,1,0,ok,0.5\n2,4096,2,1,crashed,9\n")
    told = """
        ignore = ["id"]
        failed = { state = ["crashed"] }
        settings.buffers = { setting = "shared_buffers", unit = "GB" }
        settings.jit = { setting = "jit", values = { "0" = "off", "1" = "on" } }
        settings."k.*" = "*"
        metrics.lat = { metric = "p99_ms", times = 1000 }
    """
    first, second = understood(rows, told, "p99_ms", tmp_path)
    assert dict(first.configuration) == {"work_mem": 4096, "shared_buffers": 131072, "jit": "off"}
    assert dict(first.metrics) == {"p99_ms": 500.0}
    assert second.failure == "state crashed"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "t.csv:1:1: the file is empty"),
        ("work_mem,work_mem,tps\n", "t.csv:1:2: the column 'work_mem' exists twice"),
        ("work_mem,tps\n4096,1\n4096\n", "t.csv:3:2: 1 cells under 2 column names"),
        ("work_mem,tps\n4096,1\nmuch,1\n", "t.csv:3:1: work_mem: 'much' is not a number"),
        ("work_mem,tps\n4096,1\n4096,fast\n", "t.csv:3:2: 'fast' is not a number"),
        ("work_mem,tps\n4096,1e999\n", "t.csv:2:2: 1e999 is beyond a 64-bit float"),
        ("wrk_mem,tps\n4096,1\n", "t.csv:1:1: the column 'wrk_mem' is not a setting .*did you mean work_mem"),
        ("work_mem,tps,jit\n4096,1,perhaps\n", "t.csv:2:3: jit: 'perhaps' is neither on nor off"),
        ("work_mem\n4096\n", "t.csv:2:1: there is no column for the objective tps"),
        ("tps\n1\n", "t.csv:2:1: no column is a setting"),
        ('work_mem,tps\n"4096,1\n', "t.csv:2:1: this is not CSV: unexpected end of data"),
        ("work_mem,tps\n4096,\x00\n", "t.csv:2:6: a text file must not contain NUL"),
    ],
)
def test_a_broken_table_is_refused_with_line_and_column(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(Broken, match=told):
        understood(table(tmp_path, text))


def test_what_is_no_text_is_refused_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"work_mem,tps\n40\xff96,1\n")
    with pytest.raises(Broken, match=r"t\.csv:2:3: this is not UTF-8"):
        row_files.read_csv(tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(GOOD.encode())[:20])
    with pytest.raises(Broken, match=r"t\.csv\.gz: "):
        row_files.read_csv(tmp_path / "t.csv.gz")


def test_more_text_than_a_file_may_hold_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw, "MOST_BYTES", 1 << 20)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"0" * (64 << 20)))
    with pytest.raises(Broken, match=r"t\.csv\.gz: more than 1 MiB of text"):
        row_files.read_csv(tmp_path / "t.csv.gz")


def test_a_row_holds_no_more_than_a_report() -> None:
    metrics = {f"counter_{n}": 1.0 for n in range(10_000)}
    rows = [Observation({"work_mem": 64 + n}, {"tps": 1.0, **metrics}) for n in range(3)]
    with pytest.raises(InvalidReport, match=r"t\.csv: a row: \d+ bytes are too many"):
        Workload("past", "t.csv", LIVE, Objective("tps", "maximize"), rows)


def openbox(folder: Path, observations: Any, indent: int | None = 1) -> list[RawRow]:
    (folder / "h.json").write_text(json.dumps({"task_id": "t", "observations": observations}, indent=indent))
    return json_files.openbox(folder / "h.json")


def test_an_openbox_history_is_read(tmp_path: Path) -> None:
    tried = {
        "config": {"work_mem": 4096, "jit": "on"},
        "objectives": [-120.0],
        "trial_state": 0,
        "extra_info": {"tps": 3},
    }
    crashed = {"config": {"work_mem": 64, "jit": "off"}, "objectives": [None], "trial_state": 2, "extra_info": None}
    told = 'metrics = { "objectives.0" = { metric = "qps", times = -1 } }'
    first, second = understood(openbox(tmp_path, [tried, crashed]), told, "qps", tmp_path)
    assert dict(first.metrics) == {"qps": 120.0, "tps": 3.0}
    assert second.failure == "trial_state 2"


def test_a_broken_history_is_refused_with_line_and_column(tmp_path: Path) -> None:
    good = {"config": {"work_mem": 4096}, "objectives": [1.0]}
    told = 'metrics = { "objectives.0" = "tps" }'
    bad = {"config": {"work_mem": "lots"}, "objectives": [2.0]}
    with pytest.raises(Broken, match=r"h\.json:14:5: work_mem: 'lots' is not a number"):
        understood(openbox(tmp_path, [good, bad]), told, "tps", tmp_path)
    with pytest.raises(Broken, match=r"h\.json:12:3: an observation has a `config`"):
        openbox(tmp_path, [good, {"objectives": []}])
    (tmp_path / "h.json").write_text('{"observations": [\n  {"config": }]}')
    with pytest.raises(Broken, match=r"h\.json:2:14: this is not JSON"):
        json_files.openbox(tmp_path / "h.json")


class Counted(str):
    """A text that counts how often it was searched, or compared with another one."""

    looks = 0

    def _counted(name: str) -> Any:
        def look(self: Counted, *given: Any) -> Any:
            Counted.looks += 1
            return getattr(str, name)(self, *given)

        return look

    find, rfind, count, index, __eq__ = map(_counted, ("find", "rfind", "count", "index", "__eq__"))
    __hash__ = str.__hash__


def test_places_are_looked_for_only_where_something_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = json.dumps({"observations": [{"config": {"work_mem": 64 + n}, "objectives": [1.0]} for n in range(500)]})
    monkeypatch.setattr(json_files, "text_of", lambda _: Counted(whole))
    monkeypatch.setattr(Counted, "looks", 0)
    assert len(json_files.openbox(tmp_path / "h.json")) == 500
    assert Counted.looks < 10


def test_a_title_is_not_compared_with_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counted, "looks", 0)
    row_files._check("t.csv", [Counted(f"c{n}") for n in range(1_000)])
    assert Counted.looks < 100


def test_only_the_outermost_observations_are_an_openbox_history(tmp_path: Path) -> None:
    good = {"config": {"work_mem": 4096}, "objectives": [1.0]}
    earlier = {"task_id": "t", "meta": {"observations": [1, 2, 3]}, "note": '"observations": [', "observations": [good]}
    (tmp_path / "h.json").write_text(json.dumps(earlier))
    assert len(json_files.openbox(tmp_path / "h.json")) == 1
    (tmp_path / "h.json").write_text('{"meta": {"observations": [1]},\n "observations": [\n  {"config": 1}]}')
    with pytest.raises(Broken, match=r"h\.json:3:3: an observation has a `config`"):
        json_files.openbox(tmp_path / "h.json")
    (tmp_path / "h.json").write_text('{"observations": [], "n": ' + "9" * 5000 + "}")
    with pytest.raises(Broken, match=r"h\.json:1:1: this is not JSON"):
        json_files.openbox(tmp_path / "h.json")


def test_a_mapping_of_others_writes_nothing_that_a_terminal_obeys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUTRA_DATABASE_URL", migrated(tmp_path))
    (tmp_path / "t.csv").write_text(GOOD)
    (tmp_path / "m.toml").write_text('"\\u001b]0;owned\\u0007" = 1\n')
    server = ["--engine", "postgresql", "--engine-version", "16", "--memory", "16GB", "--cores", "8", "--name", "past"]
    goal = ["--metric", "tps", "--goal", "maximize", "--mapping", str(tmp_path / "m.toml")]
    told = CliRunner().invoke(main, ["import", str(tmp_path / "t.csv"), *server, *goal])
    assert told.exit_code == 1
    assert "?]0;owned?: Extra inputs" in told.output
    assert "\x1b" not in told.output


def ottertunes(writes: int, commits: int) -> dict[str, Any]:
    """A file of counters: of the server, and of two databases."""
    databases = {"a": {"commits": str(commits), "name": "a"}, "b": {"commits": "5"}}
    return {"global": {"view": {"writes": str(writes)}}, "local": {"database": {"db": databases}}}


def test_ottertunes_pairs_are_read_as_rates(tmp_path: Path) -> None:
    for n, commits in ((10, 600), (2, 300)):
        knobs = {"global": {"global": {"work_mem": f"{n}MB", "server_version": "16.4"}}, "local": None}
        summary = {"observation_time": 60}
        counted = [ottertunes(0, 0), ottertunes(120, commits)]
        for name, document in zip(
            ("knobs", "summary", "metrics_before", "metrics_after"), (knobs, summary, *counted), strict=True
        ):
            (tmp_path / f"{n}__{name}.json").write_text(json.dumps(document))
    rows = json_files.ottertune(tmp_path, set(LIVE.rows))
    told = 'metrics = { "db.commits_per_s" = "tps" }\nignore = ["view.*"]'
    found = understood(rows, told, "tps", tmp_path)
    assert [dict(o.configuration) for o in found] == [{"work_mem": 2048}, {"work_mem": 10240}]
    assert [o.metrics["tps"] for o in found] == [5.0, 10.0]
    (tmp_path / "2__metrics_after.json").unlink()
    with pytest.raises(Broken, match=r"2__metrics_after\.json"):
        json_files.ottertune(tmp_path, set(LIVE.rows))


def test_a_sample_is_spread_from_the_worst_to_the_best() -> None:
    rows = [Observation({"work_mem": n}, {"tps": float(n)}) for n in range(64, 164)]
    found = sampled(rows, Objective("tps", "maximize"), 11)
    values = [o.metrics["tps"] for o in found]
    assert len(found) == 11
    assert values == sorted(values)
    assert {64.0, 163.0} <= set(values)


def test_of_a_broken_file_nothing_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTRA_DATABASE_URL", url := migrated(tmp_path))
    file, broken = tmp_path / "t.csv", GOOD + "4GB,1,on,fast\n"
    file.write_text(broken)
    server = ["--engine", "postgresql", "--engine-version", "16", "--memory", "16GB", "--cores", "8"]
    goal = ["--metric", "tps", "--goal", "maximize"]
    told = CliRunner().invoke(main, ["import", str(file), "--name", "past", *server, *goal])
    assert told.exit_code == 1
    assert f"{file}:4:" in told.output
    store = Store(make_engine(url))
    assert store.read(lambda unit: (unit.databases.listed(5, None), unit.audit.listed(5, None, None, None))) == ([], [])
    store.close()


def test_every_fault_is_told_at_once_the_first_ten_each_by_itself(tmp_path: Path) -> None:
    with pytest.raises(Broken) as refused:
        understood(table(tmp_path, "wrk_mem,mystery,work_mem,tps\n1,1,4096,1\n"))
    assert "t.csv:1:1: the column 'wrk_mem' is not a setting" in str(refused.value)
    assert "t.csv:1:2: the column 'mystery' is not a setting" in str(refused.value)
    many = ",".join(f"made_up_{n}" for n in range(45))
    with pytest.raises(Broken) as refused:
        understood(table(tmp_path, f"{many},work_mem,tps\n{'1,' * 45}4096,1\n"))
    assert "and 35 more of this kind" in str(refused.value)
    assert "'made_up_44'" in str(refused.value)
    with pytest.raises(Broken) as refused:
        understood(table(tmp_path, "work_mem,tps\nmuch,1\n4096,fast\n" + "4096,-1\n" * 10))
    first, second, *others, last = str(refused.value).splitlines()
    assert "t.csv:2:1: work_mem: 'much' is not a number; expected B, kB, MB" in first
    assert second.endswith("t.csv:3:2: 'fast' is not a number")
    assert len(others) == 8
    assert last == "and 2 more of this kind"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("work_mem;tps\n4096;1\n", "t.csv:1:1: the columns seem to be separated by semicolons instead of commas"),
        (
            "shared_buffers,tps\n100TB,1\n",
            "t.csv:2:1: shared_buffers: 100TB is outside what the server takes",
        ),
        ("work_mem,tps\n-64,1\n", "t.csv:2:1: work_mem: -64 is outside what the server takes"),
        ("work_mem,tps\n64,-5\n", "t.csv:2:2: tps: -5 is not a reading: a metric is a number from 0 to 1e18"),
        ("work_mem,tps\n64,1e308\n", "t.csv:2:2: tps: 1e308 is not a reading"),
    ],
)
def test_what_no_server_takes_and_nobody_measures_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(Broken, match=told):
        understood(table(tmp_path, text))


def test_a_pattern_that_leaves_no_name_says_what_it_stands_for(tmp_path: Path) -> None:
    with pytest.raises(Broken, match=r"'0' is not a metric name: .*the `\*` of a pattern is only"):
        understood(table(tmp_path, "work_mem,tps,m0\n64,1,2\n"), 'metrics."m*" = "*"', folder=tmp_path)


@pytest.mark.parametrize(("word", "value"), [("on", "pglz"), ("TRUE", "pglz"), ("no", "off"), ("LZ4", "lz4")])
def test_an_option_has_the_words_that_the_server_takes(word: str, value: str) -> None:
    assert LIVE.parse("wal_compression", word) == value


ROWS = """work_mem,data_sync_retry,jit,cores,vm,tps
64,on,on,4,a,1
128,off,on,8,a,2
256,on,on,16,a,3
512,off,on,4,a,4
"""
TPS = Objective("tps", "maximize")


def workload(folder: Path, text: str, objective: Objective = TPS) -> Workload:
    rows, meant = table(folder, text), mapping.ColumnMapping(context={"vm": "machine"})
    columns = mapping.columns(meant, rows, LIVE, objective.metric)
    return Workload("past", "t.csv", LIVE, objective, parse.observations(rows, meant, columns, LIVE, objective.metric))


def test_what_cannot_move_here_is_a_covariate_and_every_column_has_its_fate(tmp_path: Path) -> None:
    made = workload(tmp_path, ROWS)
    learned = history(made, made.context)
    assert learned.space.names == ("work_mem", "data_sync_retry", "context.cores")
    assert learned.space.fixed == ("data_sync_retry", "context.cores")
    assert [o.configuration["context.cores"] for o in learned.observations] == [4, 8, 16, 4]
    assert learned.context == {**LIVE.server.circumstances, "machine": "a"}
    assert list(made.fates({"id": "as the mapping says"}).lines()) == [
        "learned from: work_mem",
        "covariates (they cannot move here: learned from, never proposed): data_sync_retry, context.cores",
        "the same in every row (nothing to learn): jit, machine",
        "metrics: tps",
        "ignored, as the mapping says: id",
    ]
    model = fit(learned, rng=np.random.default_rng(0))
    assert {tuple(r.configuration[n] for n in learned.space.fixed) for r in model.recommend(3)} == {("on", 4)}


def test_rows_that_teach_nothing_and_a_goal_against_its_metric_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotEnoughObservations, match="at least 3 rows that measured tps are required, got 2"):
        workload(tmp_path, "work_mem,tps\n64,1\n128,2\n256,\n")
    with pytest.raises(InvalidRequest, match="every setting has the same value in all rows"):
        workload(tmp_path, "work_mem,tps\n64,1\n64,2\n64,3\n")
    with pytest.raises(
        InvalidRequest, match="p99_ms: less of it is better, so the goal must be minimize, got maximize"
    ):
        workload(tmp_path, "work_mem,p99_ms\n64,1\n128,2\n256,3\n", Objective("p99_ms", "maximize"))
