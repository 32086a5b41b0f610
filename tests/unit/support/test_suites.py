"""The plugin that leaves tests to the thorough suite."""

from __future__ import annotations

from tests.support.pytest_plugins.suites import first_cases, left_to_thorough


def test_of_a_family_the_cheapest_server_stays() -> None:
    cases = ["a.py::test_it[mysql]", "a.py::test_it[mariadb]", "a.py::test_it[postgres15]", "a.py::test_it[postgres18]"]
    assert left_to_thorough(cases) == {"a.py::test_it[mysql]", "a.py::test_it[postgres15]"}


def test_what_one_server_alone_shows_stays() -> None:
    assert left_to_thorough(["a.py::test_it[mysql]", "a.py::test_another[valkey]", "a.py::test_third"]) == set()


def test_cases_that_differ_in_more_than_their_server_all_stay_on_the_cheapest() -> None:
    cases = [f"a.py::test_it[{n}-{server}]" for n in (1, 2) for server in ("mariadb", "mysql")]
    assert left_to_thorough(cases) == {"a.py::test_it[1-mysql]", "a.py::test_it[2-mysql]"}


def test_of_each_test_the_first_case_is_kept() -> None:
    cases = ["a.py::test_it[1]", "a.py::test_it[2]", "a.py::test_another", "b.py::test_it[x-1]", "b.py::test_it[x-2]"]
    assert first_cases(cases) == {"a.py::test_it[1]", "a.py::test_another", "b.py::test_it[x-1]"}
