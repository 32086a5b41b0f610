"""The plugin that spreads the tests over several processes."""

from __future__ import annotations

import pytest

from tests.support.pytest_plugins.spread import by_turns, unit


@pytest.mark.parametrize(
    ("nodeid", "together"),
    [
        ("tests/a.py::test_one", "tests/a.py"),
        ("tests/a.py::TestIt::test_one[3]", "tests/a.py"),
        ("tests/a.py::test_one[mysql]", "tests/a.py::mysql"),
        ("tests/a.py::test_one[False-mysql]", "tests/a.py::mysql"),
        ("tests/a.py::test_of_mysql[on]", "tests/a.py"),
    ],
)
def test_the_tests_of_a_file_stay_together_but_for_those_of_another_engine(nodeid: str, together: str) -> None:
    assert unit(nodeid) == together


def test_waiting_and_computing_are_begun_by_turns_and_what_is_quick_comes_last() -> None:
    units = ["quick", "waits 1", "waits 2", "waits 3", "waits 4", "computes 1", "computes 2"]
    waiting = {name for name in units if name.startswith("waits")}
    places = by_turns(units, waiting, waiting | {"computes 1", "computes 2"})
    assert sorted(units, key=places.__getitem__) == [
        "waits 1", "computes 1", "waits 2", "waits 3", "computes 2", "waits 4", "quick"
    ]  # fmt: skip
