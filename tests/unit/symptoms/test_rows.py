"""Each symptom: what shows it, what ends it, what it then offers; and what all of them have in common."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.server import Policy
from lutra_models.symptoms import diagnose, of_engine

from tests.unit.symptoms.case import Case
from tests.unit.symptoms.cases import CASES

ENGINES = ("mariadb", "mysql", "postgresql", "redis")
ENOUGH = {"redis": 8}
"""Fewer than twenty are known of a family that keeps less."""
by_name = pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.server.engine}-{c.name}")


@by_name
def test_an_hour_shows_it_with_its_numbers_and_offers_the_cure(case: Case) -> None:
    found = case.seen(case.shown)
    assert found is not None
    assert 0.3 <= found.strength <= case.row.most
    assert case.says in found.sentence
    assert "{" not in found.sentence + "".join(c.reason for c in found.cures)
    offered = {c.setting: c.after for c in found.cures if c.after is not None}
    assert {n: offered.get(n) for n in case.cures} == dict(case.cures)
    assert not case.executes or found.statements == tuple(case.executes)
    assert all(c.after is not None or c.obstacle for c in found.cures)


@by_name
def test_it_is_silent_just_below_its_bound_and_where_a_condition_fails(case: Case) -> None:
    assert case.just or case.quiet
    for changed in filter(None, (case.just, *case.silent)):
        assert case.seen({**case.shown, **changed}) is None, changed
    for server in case.quiet:
        assert replace(case, server=server).seen(case.shown) is None, server.settings


@pytest.mark.slow
@by_name
def test_it_is_silent_without_any_one_of_its_metrics(case: Case) -> None:
    used = {n for f in case.row.formulas for n in f.names if n in case.row.measured}
    read = {case.row.measured[n].metric for n in used - case.row.defaults.keys()} & case.shown.keys()
    assert read or not case.shown or used & case.row.defaults.keys()
    for metric in read:
        assert case.seen({n: v for n, v in case.shown.items() if n != metric}) is None, metric


@pytest.mark.parametrize("engine", ENGINES)
def test_every_row_has_a_case(engine: str) -> None:
    """The host's have theirs once, beneath one of the engines."""
    rows = {r.name for r in of_engine(engine) if r.engines or engine == "postgresql"}
    assert rows == {c.name for c in CASES if c.server.engine == engine}


@pytest.mark.parametrize("engine", ENGINES)
def test_there_are_many_that_a_setting_is_at_fault_for(engine: str) -> None:
    assert sum(r.kind == "fault" for r in of_engine(engine)) >= ENOUGH.get(engine, 20)


def test_every_row_says_where_its_bounds_come_from() -> None:
    for engine in ENGINES:
        for row in of_engine(engine):
            assert row.source.startswith("https://"), row.name
            assert row.threshold.endswith("."), row.name
            assert row.sentence.endswith((".", "helps.")), row.name


@pytest.mark.parametrize("host", [True, False, None])
def test_a_setting_of_the_host_is_offered_where_it_may_move_and_else_a_person_is_told(host: bool | None) -> None:
    case = next(c for c in CASES if c.name == "swapping")
    opened = case.server.settings if host is not None else {"work_mem": case.server.settings["work_mem"]}
    live = meet(replace(case.server, settings=opened))
    found = {s.name: s for s in diagnose(live, Policy(host=bool(host)), [case.of(case.shown)]).symptoms}["swapping"]
    offered = {True: [("vm.swappiness", 10)], False: [("vm.swappiness", None)], None: []}
    assert [(c.setting, c.after) for c in found.cures] == offered[host]
    assert ("An administrator could" in found.sentence) is (host is not True)
    if host is False:
        assert "concerns everything that runs on the machine" in (found.cures[0].obstacle or "")
