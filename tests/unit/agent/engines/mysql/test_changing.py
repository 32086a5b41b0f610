from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.engines.mysql.server.connect import ANSWER_TIMEOUT_S
from lutra_agent.engines.mysql.server.section import MysqlDatabase
from lutra_agent.engines.mysql.sources import changing
from lutra_agent.engines.mysql.sources.changing import CHANGE_TIMEOUT_S, POOL, Changing
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable
from lutra_models.catalog.statements.mariadb import line
from lutra_models.catalog.statements.mysql import set_global

from tests.support.fakes.mysql import FakeConnection

DATABASE = MysqlDatabase("mysql", "127.0.0.1", 3306)
SHRINK = set_global(POOL, "1")
SORT = set_global("sort_buffer_size", "1")


def status(text: str, code: str | None = None) -> list[tuple[str, str]]:
    codes = [("Innodb_buffer_pool_resize_status_code", code)] if code is not None else []
    return [("Innodb_buffer_pool_resize_status", text), *codes]


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> FakeConnection:
    """What a change dials for itself."""
    patient = FakeConnection()

    def dial(database: MysqlDatabase, answer_timeout_s: int) -> FakeConnection:
        assert answer_timeout_s == CHANGE_TIMEOUT_S > ANSWER_TIMEOUT_S
        return patient

    monkeypatch.setattr(changing, "Connection", dial)
    return patient


def changing_of(everyday: FakeConnection, include_file: Path | None = None) -> Changing:
    return Changing(DATABASE, everyday, lambda: 0.0, include_file)  # type: ignore[arg-type]


def test_a_change_has_a_connection_of_its_own_with_time_for_it(dialled: FakeConnection) -> None:
    everyday = FakeConnection()
    changed = changing_of(everyday)
    changed.execute([SORT])
    assert SORT.text in dialled.asked
    assert dialled.closed
    assert everyday.asked == []
    # The server counted those statements too.
    assert everyday.further_questions == len(dialled.asked) == len(everyday.durations_s)


def test_where_the_server_has_no_free_connection_the_everyday_one_serves(dialled: FakeConnection) -> None:
    dialled.admits = False
    everyday = FakeConnection()
    changing_of(everyday).execute([SORT])
    assert SORT.text in everyday.asked
    assert dialled.asked == []


def test_a_change_of_the_file_alone_asks_the_server_nothing(dialled: FakeConnection, tmp_path: Path) -> None:
    everyday = FakeConnection()
    changing_of(everyday, tmp_path / "z.cnf").execute([line("sort_buffer_size", "1")])
    assert "sort_buffer_size = 1" in (tmp_path / "z.cnf").read_text()
    assert dialled.asked == everyday.asked == []


def test_a_statement_without_an_answer_is_refused_where_the_server_runs_and_unavailable_where_not(
    dialled: FakeConnection,
) -> None:
    dialled.answers = {"SET": DatabaseUnavailable("timed out")}
    with pytest.raises(ApplyRefused, match="the server runs, but gave no answer: timed out") as refused:
        changing_of(FakeConnection({"SELECT 1": [(1,)]})).execute([SHRINK])
    assert refused.value.apply_code == "internal_error"
    with pytest.raises(DatabaseUnavailable, match="gone"):
        changing_of(FakeConnection({"SELECT 1": DatabaseUnavailable("gone")})).execute([SHRINK])


@pytest.mark.parametrize(
    ("said", "code"), [("no right [1227]", "insufficient_privilege"), ("not so [1231]", "invalid_value")]
)
def test_what_the_server_refuses_is_refused_by_its_reason(dialled: FakeConnection, said: str, code: str) -> None:
    dialled.answers = {"SET": CollectionFailed(said)}
    with pytest.raises(ApplyRefused) as refused:
        changing_of(FakeConnection()).execute([SORT])
    assert refused.value.apply_code == code


def resized(dialled: FakeConnection, *states: list[tuple[str, str]], before: Any = (), forever: Any = ()) -> None:
    dialled.answers = {"SHOW GLOBAL STATUS": chain([list(before)], states, repeat(forever))}
    changed = changing_of(FakeConnection())
    changed.execute([SHRINK])
    changed.reload()


@pytest.mark.parametrize(
    "states",
    [
        (status("withdrawing blocks", "3"), status("Completed resizing at noon", "0")),
        (status("Withdrawing blocks"), status("Completed resizing buffer pool.")),
        (status("Size did not change"),),
        (status(""),),
        ([],),
    ],
    ids=["by code", "by text", "nothing to do", "never resized", "no such status"],
)
def test_a_resize_is_waited_for(dialled: FakeConnection, states: tuple[list[tuple[str, str]], ...]) -> None:
    resized(dialled, *states)
    assert dialled.asked.count("DO SLEEP(0.1)") == len(states) - 1


@pytest.mark.parametrize("code", ["7", None])
def test_a_resize_that_failed_is_refused_in_the_servers_words(dialled: FakeConnection, code: str | None) -> None:
    with pytest.raises(ApplyRefused, match="Resizing buffer pool failed") as refused:
        resized(dialled, status("Resizing buffer pool failed, finished resizing at noon", code))
    assert refused.value.apply_code == "internal_error"


def test_a_resize_that_does_not_end_is_refused_and_says_where_it_is(
    dialled: FakeConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "RESIZE_POLLS", 3)
    with pytest.raises(ApplyRefused, match=r"more than 900 s, at: withdrawing blocks"):
        resized(dialled, forever=status("withdrawing blocks", "3"))


def test_a_failure_before_a_resize_that_has_nothing_to_do_is_not_this_ones(dialled: FakeConnection) -> None:
    earlier = status("Resizing buffer pool failed, finished resizing at noon", "7")
    resized(dialled, earlier, before=earlier)
    later = status("Resizing buffer pool failed, finished resizing at one", "7")
    with pytest.raises(ApplyRefused, match="at one"):
        resized(dialled, later, before=earlier)


def test_an_earlier_resize_is_nothing_to_a_change_of_something_else(dialled: FakeConnection) -> None:
    dialled.answers = {"SHOW GLOBAL STATUS": [("Innodb_buffer_pool_resize_status_code", "7")]}
    changed = changing_of(FakeConnection())
    changed.execute([SORT])
    changed.reload()
