from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models.catalog import meet
from lutra_models.knobs import Value
from lutra_models.server import Policy, Server

from tests.support.reported.mysql import a_mysqld

ENGINES = ("mysql", "mariadb")
GB = 2**30
MB = 2**20


def terms(server: Server, **candidate: Value) -> dict[str, int]:
    return {t.name: t.bytes for t in meet(server).worst_case(candidate).terms}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(ENGINES),
    st.sampled_from((1, 2, 4, 16, 256)),
    st.integers(20, 4000),
    st.sampled_from((0.3, 0.8, 1.0)),
    st.booleans(),
)
def test_the_rule_based_configuration_keeps_every_rule(
    engine: str, gb: int, connections: int, fraction: float, myrocks: bool
) -> None:
    server = a_mysqld(engine, gb, max_connections=connections, myrocks=myrocks and engine == "mariadb")
    policy = Policy(memory_fraction=fraction)
    space, ruled = meet(server).space(policy), meet(server).rule_based(policy)
    assert space.parse(ruled) == ruled
    assert meet(server).memory_refusal(policy, ruled) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fresh_server_on_a_4_gb_host_is_within_the_limit(engine: str) -> None:
    server = a_mysqld(engine, 4)
    assert meet(server).worst_case({}).total_bytes < meet(server).memory_limit(Policy())


@pytest.mark.parametrize("engine", ENGINES)
def test_every_buffer_of_a_connection_is_counted_for_each_of_them(engine: str) -> None:
    server = a_mysqld(engine)
    for name in ("sort_buffer_size", "read_buffer_size", "read_rnd_buffer_size", "binlog_cache_size", "thread_stack"):
        value = meet(server).values[name]
        assert isinstance(value, int)
        more = meet(server).worst_case({name: value + 4096}).total_bytes
        assert more - meet(server).worst_case({}).total_bytes == 151 * 4096, name


def test_mysqls_temporary_tables_share_one_limit_unless_they_are_of_the_memory_engine() -> None:
    server = a_mysqld("mysql")
    assert terms(server)["temporary tables"] == GB
    assert terms(server, tmp_table_size=4 * MB)["temporary tables"] == 151 * 4 * MB
    older = replace(server, version="8.0.27")
    assert terms(older, tmp_table_size=4 * MB)["temporary tables"] == GB
    in_memory = terms(server, internal_tmp_mem_storage_engine="MEMORY")
    assert in_memory["temporary tables"] == int(151 / 4 * 16 * MB)


def test_the_performance_schema_counts_where_it_is_on() -> None:
    assert terms(a_mysqld("mysql"))["performance schema"] == 240 * MB + 4000 * 9 * 1024
    assert terms(a_mysqld("mysql", table_open_cache=2000))["performance schema"] == 240 * MB + 2000 * 9 * 1024
    assert terms(a_mysqld("mysql"), performance_schema="off")["performance schema"] == 0
    assert terms(a_mysqld("mariadb"))["performance schema"] == 0


def test_a_thread_pool_has_stacks_for_its_threads_only() -> None:
    server = a_mysqld("mariadb", thread_handling="pool-of-threads", thread_pool_max_threads=500, max_connections=5000)
    each = terms(replace(server, settings={**server.settings, **_threads(server, 501)}))["connections"]
    assert each - terms(server)["connections"] == 299008


def test_myrocks_counts_its_cache_and_write_buffers_where_it_is_there() -> None:
    assert terms(a_mysqld("mariadb"))["MyRocks write buffers"] == 0
    server = a_mysqld("mariadb", myrocks=True)
    assert terms(server)["MyRocks block cache"] == 512 * MB
    assert terms(server)["MyRocks write buffers"] == 512 * MB
    larger = "write_buffer_size=256m;max_write_buffer_number=4;min_write_buffer_number_to_merge=1"
    assert terms(server, rocksdb_default_cf_options=larger)["MyRocks write buffers"] == 2 * GB
    assert terms(server, rocksdb_db_write_buffer_size=64 * MB)["MyRocks write buffers"] == 80 * MB


def test_a_schema_change_has_the_merge_buffers_of_myrocks_where_it_is_there() -> None:
    assert terms(a_mysqld("mariadb"))["schema changes"] == 3 * MB
    assert terms(a_mysqld("mariadb", myrocks=True))["schema changes"] == 3 * MB + 128 * MB + GB


def test_every_part_of_the_buffer_pool_has_doublewrite_buffers_of_its_own_since_8_0_20() -> None:
    assert terms(a_mysqld("mysql"))["doublewrite buffers"] == 4 * 128 * 16 * 1024
    parts = a_mysqld("mysql", innodb_buffer_pool_instances=8, innodb_doublewrite_pages=512)
    assert terms(parts)["doublewrite buffers"] == 16 * 512 * 16 * 1024
    assert terms(replace(parts, version="8.0.19"))["doublewrite buffers"] == 0
    unknown = {n: s for n, s in parts.settings.items() if n != "innodb_doublewrite_pages"}
    assert terms(replace(parts, version="8.0.36", settings=unknown))["doublewrite buffers"] == 16 * 4 * 16 * 1024


def _threads(server: Server, count: int) -> dict[str, object]:
    return {"thread_pool_max_threads": replace(server.settings["thread_pool_max_threads"], value=str(count))}
