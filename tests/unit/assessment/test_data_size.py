"""No rule and no cure gives a cache more than the data of the server have use for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from lutra_models.assessment import assess
from lutra_models.catalog import meet
from lutra_models.catalog.values import factor
from lutra_models.evidence import Evidence, Move
from lutra_models.server import Policy, Server
from lutra_models.symptoms import MeasuredWindow, diagnose
from lutra_models.symptoms.span import data_facts

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import GB, a_server

MB = 2**20
HOUR = 3600.0
STOCK: Mapping[str, Server] = {
    "postgresql": a_server("15", 23.5),
    "mariadb": a_mysqld("mariadb", 23.5),
    "mysql": a_mysqld("mysql", 23.5),
}
POOL = {
    "postgresql": "shared_buffers",
    "mariadb": "innodb_buffer_pool_size",
    "mysql": "innodb_buffer_pool_size",
}


def evidence(server: Server, *data: float, **metrics: float) -> Evidence:
    """Of windows of an hour in all, which read these sizes of the data one after the other."""
    live, each = meet(server), HOUR / max(len(data), 1)
    windows = [MeasuredWindow(each, {"data.bytes": size, **metrics}) for size in data]
    return assess(live, Policy(), diagnose(live, Policy(), windows or [MeasuredWindow(each, metrics)]))


def moves(found: Evidence) -> dict[str, Move]:
    return {m.setting: m for f in found.findings for m in f.moves if m.after is not None and f.ground != "enough"}


def size(server: Server, move: Move) -> float:
    return float(move.after or 0) * factor(server.settings[move.setting].unit)


@pytest.mark.parametrize("engine", STOCK)
def test_a_pool_is_twice_the_data_and_says_so(engine: str) -> None:
    server, pool = STOCK[engine], POOL[engine]
    (small,) = (m for n, m in moves(evidence(server, 300.0 * MB)).items() if n == pool)
    assert size(server, small) == pytest.approx(600 * MB, rel=0.08)
    assert "(rule for this hardware): twice the 300 MB of data that this server has" in small.sentence
    large = moves(evidence(server, 300.0 * GB))[pool]
    assert size(server, large) > 5 * GB
    assert "of data" not in large.sentence
    assert large == moves(evidence(server))[pool], "where nobody knows the size, the hardware decides"


@pytest.mark.parametrize("engine", STOCK)
def test_a_server_with_hardly_any_data_needs_no_more_memory_and_no_longer_log(engine: str) -> None:
    kinds = {"jit", "effective_cache_size", "checkpoint_timeout", "random_page_cost", "effective_io_concurrency"}
    grown = {"work_mem", "innodb_log_file_size", "innodb_redo_log_capacity"}
    found = moves(evidence(STOCK[engine], 30.0 * MB))
    assert found.keys() <= kinds | grown
    assert all(size(STOCK[engine], found[n]) <= 512 * MB for n in found.keys() & grown)


def test_a_tenth_of_the_data_is_as_much_as_a_sort_may_have() -> None:
    move = moves(evidence(STOCK["postgresql"], 300.0 * MB))["work_mem"]
    assert size(STOCK["postgresql"], move) == pytest.approx(30 * MB, rel=0.05)
    assert "a tenth of the 300 MB of data" in move.sentence


def test_data_that_grow_are_counted_as_they_will_be_in_a_week() -> None:
    steady = [300.0 * MB] * 60
    grows = [300.0 * MB + i * 0.1 * MB for i in range(60)]
    quick = [MeasuredWindow(10.0, {"data.bytes": (300 + 100 * i) * MB}) for i in range(6)]
    server = STOCK["mariadb"]
    assert size(server, moves(evidence(server, *steady))[POOL["mariadb"]]) == pytest.approx(600 * MB, rel=0.08)
    grown = 2 * (305.9 + 0.1 * 60 * 24 * 7) * MB
    assert size(server, moves(evidence(server, *grows))[POOL["mariadb"]]) == pytest.approx(grown, rel=0.08)
    assert data_facts(quick)["data_room"] == 1600 * MB, "data that are just filled in are no growth"


@pytest.mark.parametrize("engine", STOCK)
def test_a_cure_keeps_to_the_data_as_well(engine: str) -> None:
    read = {"database.blks_read_per_s": 5e4, "database.blks_hit_per_s": 1e5, "bgwriter.buffers_alloc_per_s": 5e4}
    read |= {"buffer_pool.reads_per_s": 9e3, "buffer_pool.read_requests_per_s": 9e4, "buffer_pool.pages_free": 0}
    read |= {"buffer_pool.pages_total": 8192, "buffer_pool.page_bytes": 16384}
    small = meet(STOCK[engine]).parse(POOL[engine], "64MB")
    server = a_server("15", 23.5, shared_buffers=small) if engine == "postgresql" else STOCK[engine]
    found = [f for f in evidence(server, 300.0 * MB, **read).findings if f.name in ("buffers_small", "pool_small")]
    (move,) = (m for f in found for m in f.moves)
    assert size(server, move) == pytest.approx(600 * MB, rel=0.08)
    assert "twice the 300 MB of data" in move.sentence


def test_a_pool_that_is_larger_than_the_data_is_no_matter_of_a_rule() -> None:
    for engine, server in STOCK.items():
        (found,) = (meet(server).rule_based(Policy()),)
        large = meet(server).text(POOL[engine], found[POOL[engine]])
        kind = a_server("15", 23.5, shared_buffers=large) if engine == "postgresql" else None
        grown = kind or a_mysqld(engine, 23.5, innodb_buffer_pool_size=large)
        assert POOL[engine] not in moves(evidence(grown, 300.0 * MB))


def test_a_symptom_that_is_too_weak_to_be_acted_on_keeps_no_rule_back() -> None:
    spills = {"database.temp_files_per_s": 0.5, "database.temp_bytes_per_s": 1.1 * MB}
    found = evidence(STOCK["postgresql"], 30.0 * GB, **spills)
    weak = next(f for f in found.findings if f.name == "sorts_spill")
    assert weak.strength < 0.4
    assert [f.ground for f in found.findings if f.name == "work_mem"] == ["rule"]
    loud = evidence(STOCK["postgresql"], 30.0 * GB, **{n: 20 * v for n, v in spills.items()})
    assert [f.ground for f in loud.findings if f.name == "work_mem"] == []


def test_a_value_below_the_sensible_range_is_explained_by_the_size_of_the_data() -> None:
    server = a_server("15", 23.5, max_wal_size="64MB")
    by_hand = replace(server.settings["max_wal_size"], source="configuration file")
    server = replace(server, settings={**server.settings, "max_wal_size": by_hand})
    move = moves(evidence(server, 93.0 * MB))["max_wal_size"]
    assert size(server, move) == pytest.approx(186 * MB, rel=0.08)
    assert "64MB is far outside 256MB to " in move.sentence
    assert "The data on this server need no more than 1" in move.sentence
