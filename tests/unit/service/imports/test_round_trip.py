"""What Lutra writes it reads: an export, imported, is the same workload."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models.history import History
from lutra_models.knobs import Value
from lutra_models.metrics import Objective
from lutra_models.server import Host
from lutra_service.app.observations.selection import Observations
from lutra_service.app.observations.tables import Format, encoded
from lutra_service.app.workloads.imports import exported, mapping, parse, row_files
from lutra_service.app.workloads.imports.workload import LEAST, Workload, history, unread_server
from lutra_service.db.schema.records import Observed, Selection

from tests.support.pytest_plugins.suites import examples

NOW = datetime(2026, 1, 1, tzinfo=UTC)
READ: dict[Format, Any] = {
    "jsonl": row_files.read_json_lines,
    "csv": row_files.read_csv,
    "parquet": row_files.read_parquet,
}
HOST = Host(16 << 30, 8)
LIVE = unread_server("postgresql", "16.4", HOST)


class Given(Observations):
    """Rows that no store has."""

    def __init__(self, rows: list[Observed]) -> None:
        self.__dict__.update(rows=rows, wanted=Selection())

    def batches(self) -> Iterator[list[Observed]]:
        yield self.__dict__["rows"]


def observed(number: int, told: dict[str, Any]) -> Observed:
    texts: Any = {name: json.dumps(told[name]) for name in ("configuration", "metrics", "context")}
    rest: Any = dict.fromkeys(("session_id", "recommendation_id", "p99_source", "p99_of"))
    rest |= {"database_id": "db_1", "engine": "postgresql", "engine_version": "16.4", "windows": 1}
    rest |= {"host": json.dumps({"memory_bytes": HOST.memory_bytes, "cores": HOST.cores, "disk_bytes": None})}
    rest |= {"failure": told["failure"], "ended_early": told["ended_early"]}
    return Observed(id=number, **rest, **dict.fromkeys(("received_at", "window_start", "window_end"), NOW), **texts)


READINGS = st.floats(0, 1e15)
EARLY = st.builds(lambda bound: {"metric": "tps", "bound": bound, "planned_s": 60.0}, READINGS)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """A window that measured, one that was ended early, or a failure; `work_mem` and `data_sync_retry` vary."""
    configuration = {
        "work_mem": draw(st.integers(64, 2**31 - 1)),
        "wal_compression": draw(st.sampled_from(["off", "pglz", "lz4"])),
        "data_sync_retry": draw(st.sampled_from(["on", "off"])),
        "vacuum_cost_delay": draw(st.integers(0, 100_000)) / 1000,
    }
    kind = draw(st.sampled_from(["measured", "measured", "early", "failed"]))
    metrics = {"tps": draw(READINGS), "p99_ms": draw(READINGS)} if kind == "measured" else {}
    return {
        "configuration": configuration,
        "metrics": metrics,
        "context": {"clients": draw(st.sampled_from([8, 64])), "driver": "pgbench"},
        "failure": draw(st.sampled_from(["did_not_start", "=1+1", 'it\'s, "gone"'])) if kind == "failed" else None,
        "ended_early": draw(EARLY) if kind == "early" else None,
    }


def written(folder: Path, format_: Format, told: list[dict[str, Any]]) -> History:
    """What is read of what was written."""
    file = folder / f"x.{format_}"
    file.write_bytes(b"".join(encoded(Given([observed(n, t) for n, t in enumerate(told)]), format_)))
    return imported(file, format_)


def imported(file: Path, format_: Format) -> History:
    found = exported.plain(READ[format_](file))
    meant = mapping.ColumnMapping()
    columns = mapping.columns(meant, found, LIVE, "tps")
    objective = Objective("tps", "maximize")
    workload = Workload("past", file.name, LIVE, objective, parse.observations(found, meant, columns, LIVE, "tps"))
    return history(workload, workload.context)


def in_order(space: Any, told: dict[str, Any]) -> dict[str, Value]:
    known = {**told["configuration"], "context.clients": told["context"]["clients"]}
    return {name: known[name] for name in space.names}


@examples(15, 150)
def test_every_format_reads_back_the_same_history(tmp_path: Path, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(rows(), min_size=6, max_size=12))
    def reads_back(told: list[dict[str, Any]]) -> None:
        measured = {"metrics": {"tps": 5.0}, "failure": None, "ended_early": None}
        told = [{**t, **(measured if n < LEAST else {})} for n, t in enumerate(told)]
        for n, one in enumerate(told):
            one["configuration"]["work_mem"] = 64 + n
        found, *others = (written(tmp_path, format_, told) for format_ in READ)
        assert {other.key for other in others} == {found.key}
        assert [dict(o.configuration) for o in found.observations] == [in_order(found.space, t) for t in told]
        assert [dict(o.metrics) for o in found.observations] == [t["metrics"] for t in told]
        assert [o.failure for o in found.observations] == [t["failure"] for t in told]
        early = [{} if t["ended_early"] is None else {"tps": t["ended_early"]["bound"]} for t in told]
        assert [dict(o.bounds) for o in found.observations] == early
        assert found.context == {**LIVE.server.circumstances, "driver": "pgbench", **_alike(told)}

    reads_back()


def _alike(told: list[dict[str, Any]]) -> dict[str, int]:
    clients = {t["context"]["clients"] for t in told}
    return {"clients": clients.pop()} if len(clients) == 1 else {}


def test_a_window_that_did_not_measure_the_objective_is_no_failure(tmp_path: Path) -> None:
    row = {"context": {}, "failure": None, "ended_early": None}
    idle = {**row, "configuration": {"work_mem": 64}, "metrics": {"qps": 0.0}}
    told = [idle, *({**row, "configuration": {"work_mem": 65 + n}, "metrics": {"tps": 1.0}} for n in range(3))]
    assert [o.completed for o in written(tmp_path, "csv", told).observations] == [True] * 3


def test_an_observation_of_another_engine_is_named(tmp_path: Path) -> None:
    row = {"id": "win_1", "database": "db_1", "engine": "mysql", "received_at": "x", "windows": 1}
    told = json.dumps({**row, "settings": {"work_mem": 64}, "metrics": {"tps": 1}, "context": {}, "bounds": {}})
    (tmp_path / "x.jsonl").write_text(told)
    with pytest.raises(parse.Broken, match=r"x\.jsonl:1:\d+: this row is of mysql, and the workload of postgresql"):
        imported(tmp_path / "x.jsonl", "jsonl")
