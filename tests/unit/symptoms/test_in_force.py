"""What counts is the value in force, and not a variable that shows another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.server import Policy, Server
from lutra_models.symptoms import MeasuredWindow, Symptom, diagnose, of_engine

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import GB, a_server
from tests.unit.symptoms.case import MB, Case, Numbers
from tests.unit.symptoms.cases import CASES

REDO = {"redo.written_bytes_per_s": 2.0 * MB, "redo.logical_bytes": 1.2 * GB, "redo.waits_per_s": 0.0}
ON_DISK = {"temporary.tables_per_s": 3.0, "temporary.disk_tables_per_s": 2.5}


def seen(server: Server, metrics: Numbers) -> Mapping[str, Symptom]:
    found = diagnose(meet(server), Policy(), [MeasuredWindow(60.0, metrics)] * 30).symptoms
    return {s.name: s for s in found}


def case(name: str, engine: str) -> Case:
    return next(c for c in CASES if (c.name, c.server.engine) == (name, engine))


def test_the_redo_logs_capacity_is_the_one_that_the_server_reports_to_have() -> None:
    """Sized by innodb_log_file_size the server has 8 GB, and the variable of the capacity shows its unused default."""
    server = a_mysqld("mysql", 64, innodb_redo_log_capacity="100M")
    told = seen(server, {**REDO, "redo.capacity_bytes": 8.0 * GB})
    assert not {"redo_full", "redo_turns_fast"} & told.keys()
    assert "of the redo log's 8 GB were in use" in told["redo_suffices"].sentence
    assert "redo_full" in seen(server, {**REDO, "redo.logical_bytes": 400.0 * MB, "redo.capacity_bytes": 500.0 * MB})


def test_before_there_was_a_capacity_all_files_of_the_redo_log_count() -> None:
    server = a_mysqld("mysql", 64)
    files = {"innodb_log_file_size": str(GB), "innodb_log_files_in_group": "4"}
    old = {n: replace(server.settings["innodb_log_buffer_size"], value=v, unit="B") for n, v in files.items()}
    kept = {n: s for n, s in server.settings.items() if n != "innodb_redo_log_capacity"}
    told = seen(replace(server, version="8.0.28", settings={**kept, **old}), {**REDO, "redo.logical_bytes": 1.0 * GB})
    assert "25 % of the redo log's 4 GB" in told["redo_suffices"].sentence


@pytest.mark.parametrize("larger", ["tmp_table_size", "max_heap_table_size"])
def test_the_smaller_of_two_limits_bounds_a_temporary_table(larger: str) -> None:
    sizes = {"tmp_table_size": "1M", "max_heap_table_size": "1M", larger: "1G"}
    told = seen(a_mysqld("mariadb", 64, **sizes), {**ON_DISK, "temporary.rows_per_s": 1e6})["temporary_tables_on_disk"]
    assert "with 1 MB of memory for each table" in told.sentence
    (cure,) = told.cures
    assert cure.setting != larger
    assert cure.after == 16 * MB


def test_a_raise_that_did_not_help_is_not_offered_again() -> None:
    """Of 6,000 rows each, 4 kB are more than 16 MB and less than 64 MB."""
    rows = {**ON_DISK, "temporary.rows_per_s": 2.5 * 6000}
    small, large = ({"tmp_table_size": size, "max_heap_table_size": size} for size in ("16M", "64M"))
    assert "temporary_tables_on_disk" in seen(a_mysqld("mariadb", 64, **small), rows)
    told = seen(a_mysqld("mariadb", 64, **large), rows)
    assert "temporary_tables_on_disk" not in told
    assert told["temporary_tables_by_type"].cures == ()


def test_a_pool_that_is_still_being_made_larger_is_not_called_small() -> None:
    small = case("pool_small", "mysql")
    half = {"buffer_pool.pages_total": small.shown["buffer_pool.pages_total"] / 2}
    assert small.seen(small.shown)
    assert small.seen({**small.shown, **half}) is None
    assert small.seen({**small.shown, **half, "buffer_pool.page_bytes": 32 * 1024})


def test_as_many_parallel_workers_run_as_the_smaller_limit_lets() -> None:
    server = a_server("15", 16, cores=16, max_parallel_workers=12, max_worker_processes=4)
    told = seen(server, {"workers.parallel": 3.9})["parallel_workers_all_busy"]
    assert told.sentence.startswith("3.9 of 4 parallel workers")


NOT_YET = {
    "8.0.20": ("binlog_expire_logs_auto_purge", "replica_parallel_workers", "innodb_redo_log_capacity"),
    "8.0.36": (),
    "8.4.5": (),
}
"""Of the settings that symptoms read, those that an older version does not have."""


@pytest.mark.parametrize("version", NOT_YET)
def test_older_versions_are_judged_by_all_that_the_newest_is(version: str) -> None:
    newest = a_mysqld("mysql")
    redo = replace(newest.settings["innodb_log_buffer_size"], value=str(48 * MB), unit="B")
    kept = {n: s for n, s in newest.settings.items() if n not in NOT_YET[version]}
    server = replace(newest, version=version, settings={"innodb_log_file_size": redo, **kept})
    counted = {m.reported: 1.0 for row in of_engine("mysql") for m in row.measured.values()}
    assert not diagnose(meet(server), Policy(), [MeasuredWindow(600.0, counted)]).not_judged


@pytest.mark.parametrize(("rows_a_second", "judged"), [(1.0, True), (1e6, False)])
def test_a_condition_that_does_not_hold_decides_whatever_else_is_unknown(rows_a_second: float, judged: bool) -> None:
    few = MeasuredWindow(60.0, {"statements.handler_read_rnd_next_per_s": rows_a_second})
    found = diagnose(meet(a_mysqld("mysql")), Policy(), [few])
    assert ("tables_read_whole" not in found.not_judged) is judged
    assert "tables_read_whole" not in {s.name for s in found.symptoms}
