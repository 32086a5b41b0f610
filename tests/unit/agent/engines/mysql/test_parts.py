from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.mysql.server.grants import privileges
from lutra_agent.engines.mysql.server.replica import statement
from lutra_agent.engines.mysql.sources import mariadb
from lutra_agent.engines.mysql.sources import mysql as mysql_module
from lutra_agent.engines.mysql.sources.include import Entry
from lutra_agent.engines.mysql.sources.mariadb import IncludeFile
from lutra_agent.engines.mysql.sources.mysql import Persisted
from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus, reading

HERE = Place(os.getpid())


def test_mysqls_file_is_read_in_every_section() -> None:
    entry = {"Value": "2", "Metadata": {"Timestamp": 1795252310623558}}
    old = {"Version": 1, "mysql_server": {"a": entry, "mysql_server_static_options": {"b": entry}}}
    new = {"Version": 2, "mysql_static_variables": {"c": entry}, "mysql_dynamic_parse_early_variables": {"d": entry}}
    assert dict(Persisted().file_says(json.dumps(old).encode())) == {"a": "2", "b": "2"}
    assert dict(Persisted().file_says(json.dumps(new).encode())) == {"c": "2", "d": "2"}


@given(st.binary(max_size=200))
def test_reading_a_settings_file_is_total(content: bytes) -> None:
    for flavour in (Persisted(), IncludeFile(Path("/etc/mysql/zz-lutra.cnf"))):
        assert all(isinstance(v, str) for v in flavour.file_says(content).values())


@pytest.mark.parametrize(
    ("value", "source", "persisted", "written_s", "waits"),
    [
        ("4", "COMPILED", None, None, False),
        ("4", "COMPILED", "8", 20.0, True),
        ("4", "PERSISTED", None, None, True),
        ("7", "PERSISTED", "8", 5.0, False),
        ("8", "PERSISTED", "8", 20.0, False),
        ("4", "COMPILED", "8", None, True),
    ],
    ids=["nothing there", "written since", "taken out since", "rounded at the start", "same", "file unread"],
)
def test_a_value_that_waits_is_told_from_one_that_was_rounded(
    value: str, source: str, persisted: str | None, written_s: float | None, waits: bool
) -> None:
    assert mysql_module._waits(value, source, persisted, written_s, started_s=10.0) is waits


def test_mariadb_tells_what_outranks_its_include_file() -> None:
    line = Entry("8", 5.0)
    assert mariadb._shadow("COMMAND-LINE", None, False, None, 10.0) == "the command line"
    assert "z.cnf" in str(mariadb._shadow("CONFIG", "/etc/z.cnf", False, line, 10.0))
    assert mariadb._shadow("CONFIG", "/etc/a.cnf", False, None, 10.0) is None
    assert mariadb._shadow("CONFIG", "/etc/a.cnf", False, Entry("8", 15.0), 10.0) is None
    assert mariadb._shadow("CONFIG", "ours", True, line, 10.0) is None


def test_mariadb_without_an_include_file_changes_nothing_and_says_why() -> None:
    found = IncludeFile(None).permissions(frozenset({"ALL PRIVILEGES"}), "'a'@'b'", {"max_connections": False}, HERE)
    assert found.changeable == frozenset()
    assert "include_file" in found.explanation


def test_mariadb_changes_nothing_where_its_include_file_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "absent" / "zz-lutra.cnf"
    for names in ({"max_connections": False}, {"back_log": True}):
        found = IncludeFile(file).permissions(frozenset({"ALL PRIVILEGES"}), "'a'@'b'", names, HERE)
        assert found.changeable == frozenset()
        assert f"may not write {file} and its folder" in found.explanation


def test_privileges_come_from_every_line_on_everything() -> None:
    lines = [
        "GRANT SELECT, REPLICATION CLIENT ON *.* TO `a`@`%`",
        "GRANT SYSTEM_VARIABLES_ADMIN,CONNECTION_ADMIN ON *.* TO `a`@`%` WITH GRANT OPTION",
        "GRANT INSERT ON `db`.* TO `a`@`%`",
        "GRANT `role`@`%` TO `a`@`%`",
    ]
    assert privileges(lines) == {"SELECT", "REPLICATION CLIENT", "SYSTEM_VARIABLES_ADMIN", "CONNECTION_ADMIN"}


def test_mysql_names_the_least_that_is_missing() -> None:
    needs = {"max_connections": False, "back_log": True}
    none = Persisted().permissions(frozenset(), "'a'@'b'", needs, HERE)
    assert none.remedies == ("GRANT SYSTEM_VARIABLES_ADMIN, PERSIST_RO_VARIABLES_ADMIN ON *.* TO 'a'@'b';",)
    some = Persisted().permissions(frozenset({"SYSTEM_VARIABLES_ADMIN"}), "'a'@'b'", needs, HERE)
    assert some.changeable == {"max_connections"}
    assert (
        Persisted().permissions(frozenset({"SYSTEM_VARIABLES_ADMIN"}), "", {"max_connections": False}, HERE).remedies
        == ()
    )


@pytest.mark.parametrize(
    ("name", "privilege"),
    [
        ("thread_pool_size", "CONNECTION ADMIN"),
        ("thread_pool_stall_limit", "CONNECTION ADMIN"),
        ("max_connections", "CONNECTION ADMIN"),
        ("thread_cache_size", "SUPER"),
        ("sync_binlog", "BINLOG ADMIN"),
        ("binlog_cache_size", "BINLOG ADMIN"),
        ("sort_buffer_size", "SUPER"),
    ],
)
def test_mariadb_names_the_privilege_that_each_setting_needs(name: str, privilege: str, tmp_path: Path) -> None:
    flavour = IncludeFile(tmp_path / "zz-lutra.cnf")
    assert flavour.permissions(frozenset(), "'a'@'b'", {name: False}, HERE).remedies == (
        f"GRANT {privilege} ON *.* TO 'a'@'b';",
    )
    assert flavour.permissions(frozenset({privilege}), "'a'@'b'", {name: False}, HERE).changeable == {name}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("5.5.5-10.11.6-MariaDB", "SHOW ALL SLAVES STATUS"),
        ("8.0.21", "SHOW SLAVE STATUS"),
        ("9.7.4-2", "SHOW REPLICA STATUS"),
    ],
)
def test_each_version_is_asked_for_its_replication_in_its_own_words(version: str, expected: str) -> None:
    assert statement(version) == expected


def test_a_status_variable_that_a_version_lacks_is_absent() -> None:
    collector = FromStatus("x", {"a": "A", "b": "B"}, {"c": "C", "d": "D"})
    found = collector.read(None, {"A": "3", "C": "1.5", "D": "text"})  # type: ignore[arg-type]
    assert found is not None
    assert (found.counters, found.gauges) == ({"a": 3.0}, {"c": 1.5})
    assert collector.read(None, {}) is None  # type: ignore[arg-type]
    assert reading({"a": 1, "b": None, "c": "x"}, frozenset()).counters == {"a": 1.0}
