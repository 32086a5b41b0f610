"""What each engine's changes say, as they are executed and as they are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models.catalog import own_engines
from lutra_models.catalog.files import catalogues
from lutra_models.catalog.statements import RENDERERS, as_text, renderer, to_paste
from lutra_models.catalog.statements.mariadb import MARIADB, line
from lutra_models.catalog.statements.mysql import MYSQL, literal, same, variable
from lutra_models.catalog.statements.postgresql import POSTGRESQL
from lutra_models.errors import NotFound


def test_each_catalogue_has_a_renderer_and_what_has_none_is_named() -> None:
    assert [r.catalogue for r in RENDERERS] == sorted((*own_engines(), "linux"))
    assert all(renderer(catalogue).catalogue == catalogue for catalogue in catalogues())
    assert renderer("mysql") is MYSQL
    with pytest.raises(
        NotFound,
        match="nothing renders changes of 'oracle'; known: linux, mariadb, mysql, pika, postgresql, redis, valkey",
    ):
        renderer("oracle")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("134217728", "134217728"),
        ("75.5", "75.5"),
        ("ON", "'ON'"),
        ("O_DIRECT", "'O_DIRECT'"),
        ("it's\\", "'it''s\\\\'"),
    ],
)
def test_numbers_are_bare_and_texts_quoted(text: str, expected: str) -> None:
    assert literal(text) == expected


@pytest.mark.parametrize("name", ["", "a b", "x;DROP", "1x", "a'"])
def test_what_is_no_name_never_gets_into_a_statement(name: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        variable(name)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("1G", "1073741824", True),
        ("ON", "1", True),
        ("75", "75.000000", True),
        ("fsync", "FSYNC", True),
        ("1", "2", False),
    ],
)
def test_two_texts_may_mean_one_value(one: str, other: str, expected: bool) -> None:
    assert same(one, other) is expected


@given(st.text(max_size=50), st.text(max_size=50))
def test_comparing_is_total(one: str, other: str) -> None:
    assert same(one, other) in (True, False)
    assert same(one, one)


def test_mysql_persists_at_once_or_for_the_next_start() -> None:
    assert [s.text for s in MYSQL.change("max_connections", "200", False)] == ["SET PERSIST max_connections = 200"]
    assert [s.text for s in MYSQL.change("back_log", "200", True)] == ["SET PERSIST_ONLY back_log = 200"]


@pytest.mark.parametrize(
    ("text", "active", "restart", "expected"),
    [
        (None, "151", False, ["RESET PERSIST IF EXISTS x", "SET GLOBAL x = 151"]),
        ("200", "200", False, ["SET PERSIST x = 200"]),
        ("200", "151", False, ["SET PERSIST x = 200", "SET GLOBAL x = 151"]),
        (None, "151", True, ["RESET PERSIST IF EXISTS x"]),
        ("200", "151", True, ["SET PERSIST_ONLY x = 200"]),
    ],
)
def test_mysqls_undo_restores_the_file_and_the_active_value_apart(
    text: str | None, active: str, restart: bool, expected: list[str]
) -> None:
    assert [s.text for s in MYSQL.undo("x", text, active, restart)] == expected


@pytest.mark.parametrize(
    ("text", "active", "restart", "expected"),
    [
        (None, "151", False, ["SET GLOBAL x = 151", "# delete the line loose_x"]),
        ("200", "151", False, ["SET GLOBAL x = 151", "loose_x = 200"]),
        (None, "151", True, ["# delete the line loose_x"]),
        ("200", "151", True, ["loose_x = 200"]),
    ],
)
def test_mariadbs_undo_restores_the_active_value_and_the_line_apart(
    text: str | None, active: str, restart: bool, expected: list[str]
) -> None:
    assert [s.text for s in MARIADB.undo("x", text, active, restart)] == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("4194304", "loose_x = 4194304"),
        ("mrr=on,mrr_cost_based=off", 'loose_x = "mrr=on,mrr_cost_based=off"'),
        ("a b", 'loose_x = "a b"'),
        ("1\n!include /tmp/evil.cnf", r"# loose_x: no line holds '1\n!include /tmp/evil.cnf'"),
    ],
)
def test_a_line_is_written_as_the_server_reads_it(value: str, text: str) -> None:
    assert line("x", value).text == text


@given(st.text(max_size=50))
def test_a_value_never_makes_more_than_one_line_of_a_file(value: str) -> None:
    assert len(line("x", value).text.splitlines()) == 1


def test_postgresql_quotes_every_text_and_only_an_odd_name() -> None:
    assert [s.text for s in POSTGRESQL.change("work_mem", "8MB", False)] == ["ALTER SYSTEM SET work_mem = '8MB'"]
    assert [s.text for s in POSTGRESQL.undo("DateStyle", "it's", "ISO", False)] == [
        "ALTER SYSTEM SET \"DateStyle\" = 'it''s'"
    ]
    assert [s.text for s in POSTGRESQL.undo("work_mem", None, "4MB", True)] == ["ALTER SYSTEM RESET work_mem"]


def test_statements_are_shown_in_one_line_and_lines_of_a_file_under_its_name_and_section() -> None:
    assert as_text(MYSQL.undo("x", None, "1", False)) == "RESET PERSIST IF EXISTS x; SET GLOBAL x = 1"
    assert as_text(MARIADB.change("x", "1", False)) == "SET GLOBAL x = 1\n# include_file\n[mariadbd]\nloose_x = 1"
    assert as_text(MARIADB.change("x", "1", True)) == "# include_file\n[mariadbd]\nloose_x = 1"


def test_several_changes_are_pasted_with_statements_first_and_each_file_once() -> None:
    steps = (*MARIADB.change("y", "on", False), *MARIADB.change("x", "1", False))
    assert list(to_paste(steps)) == [
        "SET GLOBAL y = 'on';",
        "SET GLOBAL x = 1;",
        "# include_file",
        "[mariadbd]",
        "loose_y = on",
        "loose_x = 1",
    ]
    assert list(to_paste(MYSQL.change("x", "1", True))) == ["SET PERSIST_ONLY x = 1;"]
