"""What others hold of the memory bounds every raise; what the host bounds beside memory does, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from lutra_models.catalog import load, meet
from lutra_models.catalog.rows import LimitRow, from_document
from lutra_models.knobs import Configuration
from lutra_models.server import Host, Policy, Server

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import GB, a_server
from tests.support.reported.redis import a_redis

MB = 1 << 20
SERVERS: Mapping[str, Callable[[], Server]] = {
    "postgresql": lambda: a_server("16", memory_gb=4, peak_connections=10),
    "mysql": lambda: a_mysqld("mysql", 4, peak_connections=10),
    "mariadb": lambda: a_mysqld("mariadb", 4, peak_connections=10),
    "redis": lambda: a_redis(4, settings={"maxmemory": "100mb"}),
    "valkey": lambda: a_redis(4, settings={"maxmemory": "100mb"}, engine="valkey"),
}
CACHES = {"postgresql": "shared_buffers", "redis": "maxmemory", "valkey": "maxmemory"}
POOL = "innodb_buffer_pool_size"


def beside(server: Server, others: int, resident: int = 0, **facts: Any) -> Server:
    """The server on a host of which others hold so many bytes."""
    return replace(server, host=replace(server.host, others_bytes=others, resident_bytes=resident, **facts))


@pytest.mark.parametrize("engine", SERVERS)
def test_what_others_hold_bounds_a_raise_on_every_engine(engine: str) -> None:
    alone = SERVERS[engine]()
    crowded, policy, name = beside(alone, 3 * GB), Policy(durability=True), CACHES.get(engine, POOL)
    raised = {name: meet(alone).parse(name, "2147483648" if engine in ("redis", "valkey") else "2GB")}
    assert meet(alone).memory_refusal(policy, raised) is None
    refusal = meet(crowded).memory_refusal(policy, raised)
    assert refusal is not None
    assert refusal.code == "memory_budget_exceeded"
    for figure in (
        "768 MB that other programs leave",
        "3,072 MB",
        "4,096 MB",
        "256 MB have to stay free",
        "fewer programs",
    ):
        assert figure in refusal.message


@pytest.mark.parametrize("engine", SERVERS)
def test_rules_and_ranges_divide_what_others_leave(engine: str) -> None:
    name = CACHES.get(engine, POOL)
    policy = Policy(durability=True, movable=frozenset({name}))
    alone, crowded = meet(SERVERS[engine]()), meet(beside(SERVERS[engine](), 2 * GB))
    high = [getattr(live.space(policy)[name].domain, "high") for live in (alone, crowded)]  # noqa: B009
    assert high[1] < high[0]
    ruled = crowded.rule_based(policy)
    assert crowded.memory_refusal(policy, ruled) is None
    if engine not in ("redis", "valkey"):  # no rule raises what holds the data
        assert ruled[name] < alone.rule_based(policy)[name]  # type: ignore[operator]


def test_the_planner_is_told_of_what_can_be_cache() -> None:
    live = meet(beside(a_server("16", memory_gb=16), 12 * GB))
    assert live.rule_based(Policy())["effective_cache_size"] == 3 * GB // 8192
    assert getattr(live.space(Policy())["effective_cache_size"].domain, "high") == 4 * GB // 8192  # noqa: B009


def test_what_the_server_holds_beyond_its_sum_is_no_room() -> None:
    """Its sum explains so much; the rest it will hold with any settings."""
    server = beside(a_server("16", memory_gb=4, peak_connections=10), GB)
    now = meet(server).memory(Policy(), {}).total_bytes
    limits = [meet(replace(server, host=replace(server.host, resident_bytes=r))) for r in (0, now, now + 200 * MB)]
    bytes_left = [live.memory_limit(Policy()) for live in limits]
    assert bytes_left == [4 * GB - GB - GB // 4] * 2 + [4 * GB - GB - GB // 4 - 200 * MB]


def test_where_nobody_knows_of_others_the_share_of_the_memory_is_the_limit() -> None:
    live = meet(a_server("16", memory_gb=4))
    assert live.memory_limit(Policy()) == int(4 * GB * 0.8)
    refusal = live.memory_refusal(Policy(), {"shared_buffers": 1 << 20})
    assert refusal is not None
    assert "others" not in refusal.message


def test_with_little_beside_it_the_policys_share_stays_the_limit() -> None:
    assert meet(beside(a_server("16", memory_gb=4), GB // 2)).memory_limit(Policy()) == int(4 * GB * 0.8)


def test_what_others_took_from_an_earlier_configuration_is_not_there_for_a_new_one() -> None:
    """What ran may come back; what lies between it and now may not be taken as proved by it."""
    live = meet(beside(a_server("16", memory_gb=4), 3 * GB + GB // 2))
    began = {"shared_buffers": GB // 8192}
    assert live.memory_refusal(Policy(), {"shared_buffers": GB // 16384}, [began]) is not None
    assert live.memory_refusal(Policy(), began, [began]) is None
    assert live.memory_refusal(Policy(), {"work_mem": 2048}) is None
    assert live.memory_refusal(Policy(), {"work_mem": 4097}) is not None
    assert live.memory_refusal(Policy(), {"random_page_cost": 1.1}) is None


def test_the_servers_own_defaults_prove_nothing_where_others_hold_the_memory() -> None:
    small = a_mysqld("mysql", 4, innodb_buffer_pool_size="16MB")
    crowded = beside(small, 3 * GB + GB // 2)
    assert meet(small).memory_refusal(Policy(), {POOL: 128 * MB}) is None
    assert meet(crowded).memory_refusal(Policy(), {POOL: 128 * MB}) is not None


def small_shm(**settings: str | int | float) -> Server:
    server = a_server("16", memory_gb=8, peak_connections=10, **settings)
    return replace(server, host=replace(server.host, shm_bytes=64 * MB))


def test_a_raise_beyond_dev_shm_is_refused_with_the_way_out() -> None:
    live = meet(small_shm())
    joins = live.limited({})[0]
    assert joins.exceeded
    refusal = live.limit_refusal({"work_mem": 8192})
    assert refusal is not None
    assert refusal.code == "limit_exceeded"
    for words in ("/dev/shm: 64 MB", "the hash tables of parallel joins may need 384 MB", "--shm-size"):
        assert words in refusal.message
    assert live.limit_refusal({"work_mem": 4096}) is None
    assert live.limit_refusal({"work_mem": 8192, "max_parallel_workers_per_gather": 0}) is None
    assert live.limit_refusal({"work_mem": 8192, "max_parallel_workers": 4}) is None  # no more than today


@pytest.mark.parametrize(
    "elsewhere",
    [{"dynamic_shared_memory_type": "mmap"}, {"max_parallel_workers_per_gather": 0}, {"enable_parallel_hash": "off"}],
)
def test_dev_shm_bounds_only_what_lies_in_it(elsewhere: dict[str, str | int]) -> None:
    live = meet(small_shm(**elsewhere))
    assert live.limit_refusal({"work_mem": 65536}) is None
    assert live.space(Policy()).refusal(Configuration({**live.rule_based(Policy()), "work_mem": 8192})) is None


def test_a_vacuum_with_workers_has_its_dead_rows_in_dev_shm() -> None:
    live = meet(small_shm())
    refusal = live.limit_refusal({"maintenance_work_mem": 128 * 1024})
    assert refusal is not None
    assert "a VACUUM with parallel workers may need 130 MB" in refusal.message
    assert live.limit_refusal({"maintenance_work_mem": 128 * 1024, "max_parallel_maintenance_workers": 0}) is None


def test_the_rule_for_the_hardware_stays_below_an_exceeded_limit() -> None:
    live, free = meet(small_shm()), meet(replace(small_shm(), host=a_server(memory_gb=8).host))
    bounded, wished = live.rule_based(Policy()), free.rule_based(Policy())
    assert bounded["work_mem"] < wished["work_mem"]  # type: ignore[operator]
    assert live.limited(bounded)[0].needs <= live.limited({})[0].needs < live.limited(wished)[0].needs
    assert bounded["shared_buffers"] == wished["shared_buffers"]


LIMITS = [
    ("postgresql", "tasks", 129, {"max_connections": 101}, {"max_connections": 100}),
    ("mysql", "open_files", 8500, {"table_open_cache": 5000}, {"table_open_cache": 4000}),
    ("mariadb", "open_files", 4300, {"table_open_cache": 3000}, {"table_open_cache": 1000}),
    ("mysql", "tasks", 250, {"max_connections": 300}, {"max_connections": 160}),
    ("mariadb", "tasks", 250, {"max_connections": 300}, {"max_connections": 160}),
    ("mysql", "write_iops", 15000, {"innodb_io_capacity": 16000, "innodb_io_capacity_max": 20000}, {}),
    ("mariadb", "write_iops", 800, {"innodb_io_capacity": 1000}, {"innodb_io_capacity": 800}),
    ("redis", "open_files", 10032, {"maxclients": 10001}, {"maxclients": 9000}),
    ("valkey", "tasks", 9, {"io-threads": 4}, {"io-threads": 1}),
]


@pytest.mark.parametrize(("engine", "fact", "has", "beyond", "within"), LIMITS)
def test_what_the_host_bounds_beside_memory_bounds_a_raise(
    engine: str, fact: str, has: int, beyond: dict[str, Any], within: dict[str, Any]
) -> None:
    server = SERVERS[engine]()
    live = meet(replace(server, host=replace(server.host, **{fact: has})))
    refusal = live.limit_refusal(beyond)
    assert refusal is not None
    assert f"{has:,}" in refusal.message
    assert live.limit_refusal(within) is None
    assert live.limit_refusal(beyond, [beyond]) is None  # it ran so
    assert meet(server).limit_refusal(beyond) is None  # nothing is known of a limit


@pytest.mark.parametrize("engine", SERVERS)
def test_a_limit_that_the_server_exceeds_today_stops_no_other_change(engine: str) -> None:
    server = SERVERS[engine]()
    none = {"shm_bytes": 0, "open_files": 1, "tasks": 1, "write_iops": 1}
    live = meet(replace(server, host=replace(server.host, **none)))
    space = live.space(Policy())
    assert space.refusal(live.values.restrict(space.names)) is None
    assert space.refusal(live.rule_based(Policy())) is None
    assert any(n.exceeded for n in live.limited({}))


def test_a_limit_names_a_fact_of_the_host() -> None:
    assert {row.fact for engine in SERVERS for row in load(engine).limits} <= set(Host.__annotations__)
    row = {"name": "doors", "fact": "doors", "needs": "1", "what": "cats", "remedy": "none"}
    with pytest.raises(ValueError, match="'doors' is not one of"):
        from_document("small", {"setting": [], "limit": [row]})
    assert isinstance(load("postgresql").limits[0], LimitRow)
