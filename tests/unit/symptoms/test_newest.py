"""What is true now is judged by the newest window, whatever the hour before it was like."""

from __future__ import annotations

import pytest
from lutra_models.catalog import meet
from lutra_models.symptoms import MeasuredWindow, diagnose
from lutra_models.symptoms.span import Measured

from tests.unit.symptoms.case import Case, Numbers
from tests.unit.symptoms.cases import CASES

AGES: tuple[tuple[str, Numbers], ...] = (
    ("transactions_left_open", {"sessions.idle_in_transaction_s": 0.5}),
    ("autovacuum_off", {"tables.behind": 0, "tables.dead_rows": 0}),
    ("dead_rows_held", {"horizon.prepared_xids": 0, "tables.behind": 0}),
    ("purge_held_back", {"open_transactions.oldest_s": 1}),
)


def seen(case: Case, *hours: Numbers) -> bool:
    windows = [MeasuredWindow(60.0, case.of({**case.shown, **hour}).metrics) for hour in hours]
    return case.name in {s.name for s in diagnose(meet(case.server), case.policy, windows).symptoms}


@pytest.mark.parametrize(("name", "before"), AGES, ids=[name for name, _ in AGES])
def test_an_age_that_the_newest_window_has_shows_at_once_and_is_gone_at_once(name: str, before: Numbers) -> None:
    case = next(c for c in CASES if c.name == name)
    quiet = {n: v for n, v in before.items() if n in case.shown}
    assert seen(case, *[quiet] * 9, {})
    assert not seen(case, *[{}] * 9, quiet)


def test_a_text_is_of_the_last_window_that_has_it() -> None:
    windows = [MeasuredWindow(10.0, {}, texts) for texts in ({"a.b": "old"}, {"a.b": "new"}, {})]
    assert Measured.parse("text of a.b").value(windows) == "new"
    assert Measured.parse("text of a.c").value(windows) is None


def test_the_newest_is_the_last_value_where_a_gauge_moved_in_its_window() -> None:
    windows = [MeasuredWindow(10.0, m) for m in ({"a.b": 3.0, "a.b_now": 6.0}, {"a.b": 5.0, "a.b_now": 4.0})]
    assert [Measured.parse(f"{how} of a.b").value(windows) for how in ("newest", "most", "mean")] == [4.0, 5.0, 4.0]
    assert Measured.parse("newest of a.b").value([*windows, MeasuredWindow(10.0, {"a.b": 4.0})]) == 4.0


@pytest.mark.parametrize(
    ("name", "share", "rows"),
    [
        ("tables_read_whole", "tables.bare_share", "tables.bare_rows"),
        ("foreign_key_without_index", "indexes.foreign_key_share", "indexes.foreign_key_rows"),
        ("scans_without_index", "indexes.used_share", "indexes.used_rows"),
    ],
)
def test_what_is_read_whole_since_today_shows_beside_years_of_statistics(name: str, share: str, rows: str) -> None:
    case = next(c for c in CASES if c.name == name)
    old = {**case.shown, share: 0.01}
    assert case.seen(old) is None
    assert case.seen({**old, rows: case.shown["tables.seq_rows"]}) is not None


def test_the_newest_is_of_the_last_window_that_has_it() -> None:
    windows = [MeasuredWindow(10.0, m) for m in ({"a.b": 3.0}, {"a.b": 5.0}, {"a.b": 4.0}, {})]
    assert Measured.parse("newest of a.b").value(windows) == 4.0
