"""What a symptom may offer: what somebody set is said, and what cannot move says why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.server import Policy, Server
from lutra_models.symptoms import Cure
from lutra_models.symptoms.offers import Offers, Wish, worth_executing

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import a_server
from tests.support.reported.redis import a_redis
from tests.unit.symptoms.case import Case
from tests.unit.symptoms.cases import CASES

SPILLS = next(c for c in CASES if c.name == "sorts_spill")
PAGES = next(c for c in CASES if c.name == "page_tables_large")
SMALL = next(c for c in CASES if c.name == "buffers_small")


def cure(case: Case, policy: Policy | None = None) -> Cure:
    found = next(s for s in case.diagnosis(case.shown, policy).symptoms if s.name == case.name)
    return found.cures[0]


def test_a_value_that_somebody_set_is_marked_and_the_servers_own_is_not() -> None:
    assert cure(SPILLS).set_by is None
    by_hand = replace(SPILLS, server=a_server("15", memory_gb=16, work_mem="5MB"))
    assert cure(by_hand).set_by == "configuration file"


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (Policy(pins={"work_mem": "4MB"}), "work_mem is pinned"),
        (Policy(movable=frozenset({"jit"})), "not among the settings that the policy allows to move"),
    ],
)
def test_what_the_policy_holds_is_not_offered_and_says_why(policy: Policy, why: str) -> None:
    found = cure(SPILLS, policy)
    assert found.after is None
    assert why in str(found.obstacle)


def test_a_restart_that_is_not_allowed_is_an_obstacle() -> None:
    assert cure(SMALL).applies == "restart"
    found = cure(SMALL, Policy(restart=False))
    assert (found.after, "restart" in str(found.obstacle)) == (None, True)


def test_the_memory_limit_leaves_as_much_as_fits_and_says_so() -> None:
    found = cure(replace(SPILLS, server=a_server("15", memory_gb=4)))
    assert found.after is not None
    assert 4096 < int(found.after) < 24576
    assert "above the limit" in str(found.obstacle)


def test_a_range_of_the_policy_bounds_the_cure() -> None:
    assert cure(SPILLS, Policy(ranges={"work_mem": ("1MB", "10MB")})).after == 10240


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (Policy(host=True, memory_fraction=0.05), "above the limit"),
        (Policy(host=True, ranges={"vm.nr_hugepages": (0, 50)}), "may not go as far as necessary"),
    ],
)
def test_of_huge_pages_too_few_are_none(policy: Policy, why: str) -> None:
    found = cure(PAGES, policy)
    assert found.after is None
    assert why in str(found.obstacle)


REDIS = a_redis(
    settings={
        "save": "3600 1",
        "maxmemory": str(1 << 30),
        "client-output-buffer-limit": "normal 0 0 0 pubsub 8 4 60",
    }
)
REWRITE, RELOAD = "CONFIG REWRITE", "SELECT pg_reload_conf();"


@pytest.mark.parametrize(
    ("server", "statements", "left"),
    [
        (REDIS, ['CONFIG SET save "3600 1"', REWRITE], []),
        (REDIS, ["CONFIG SET maxmemory 1024mb", REWRITE], []),
        (REDIS, ['CONFIG SET save "3600 1"', "CONFIG SET maxmemory 2gb", REWRITE], [1, 2]),
        (REDIS, ['CONFIG SET client-output-buffer-limit "pubsub 8 4 60"', REWRITE], []),
        (REDIS, ["BGSAVE", 'CONFIG SET save "3600 1"'], [0]),
        (REDIS, ["CONFIG SET maxmemory <more>", REWRITE], [0, 1]),
        (a_server("15", work_mem="4MB"), ["ALTER SYSTEM SET work_mem = '4MB';", RELOAD], []),
        (a_server("15", work_mem="4MB"), ["ALTER SYSTEM SET work_mem = '8MB';", RELOAD], [0, 1]),
        (a_mysqld("mysql", max_connections=151), ["SET PERSIST max_connections = 151;"], []),
        (a_mysqld("mysql"), ["SET GLOBAL max_connections = 151, GLOBAL table_open_cache = 9;"], [0]),
        (a_mysqld("mysql"), [REWRITE, "SET PERSIST unknown = 1;"], [0, 1]),
    ],
)
def test_no_statement_sets_what_is_so_already(server: Server, statements: list[str], left: list[int]) -> None:
    assert worth_executing(statements, meet(server)) == tuple(statements[n] for n in left)


def test_a_wish_for_the_present_value_sets_nothing() -> None:
    offers = Offers(meet(REDIS), Policy(durability=True))
    assert offers.cures([Wish("save", "set", "3600 1", "so")]) == ()
    (same,) = offers.cures([Wish("maxmemory", "raise", float(1 << 30), "so")])
    assert (same.after, same.obstacle) == (None, "maxmemory is already as far as it may go here")
    assert [c.setting for c in offers.cures([Wish("maxmemory", "raise", float(2 << 30), "so")])] == ["maxmemory"]
