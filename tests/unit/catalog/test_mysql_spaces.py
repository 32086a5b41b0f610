from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models.catalog import load, meet
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Choice, Configuration, Number
from lutra_models.server import Policy, Server, ServerSetting

from tests.support.reported.mysql import a_mysqld

ENGINES = ("mysql", "mariadb")
GB = 2**30
MB = 2**20


def names(engine: str, version: str) -> set[str]:
    return {r.name for r in load(engine).rows_for(version)}


def everything(server: Server) -> Policy:
    return Policy(movable=frozenset(server.settings), durability=True)


def only(name: str) -> Policy:
    return Policy(movable=frozenset({name}))


def number(server: Server, name: str) -> Number:
    found = meet(server).space(Policy(movable=frozenset({name}), durability=True))[name].domain
    assert isinstance(found, Number)
    return found


@pytest.mark.parametrize(
    ("engine", "versions"),
    [
        ("mysql", ("8.0.11", "8.0.29", "8.0.30", "8.4.6", "9.7.4-2")),
        ("mariadb", ("10.6.1", "10.11.19-MariaDB", "11.8.3")),
    ],
)
def test_each_version_has_at_least_45_settings_and_each_of_them_once(engine: str, versions: tuple[str, ...]) -> None:
    for version in versions:
        rows = [r.name for r in load(engine).rows_for(version)]
        assert len(rows) == len(set(rows)) >= 45
    assert all(r.meaning.endswith(".") and r.manual for r in load(engine).rows)


def test_what_a_version_renamed_or_removed_is_a_row_with_its_versions() -> None:
    redo = {v: {r.name: r.applies for r in load("mysql").rows_for(v)} for v in ("8.0.29", "8.4.6")}
    assert (redo["8.0.29"]["innodb_log_file_size"], redo["8.4.6"]["innodb_log_file_size"]) == ("restart", "fixed")
    assert "innodb_log_file_size" not in names("mysql", "9.7.4")
    assert "innodb_redo_log_capacity" in names("mysql", "8.0.30") & names("mysql", "9.7.4") - names("mysql", "8.0.29")
    assert "innodb_buffer_pool_instances" in names("mysql", "9.7.4") - names("mariadb", "10.6.1")
    assert "innodb_change_buffering" in names("mariadb", "10.11.19") - names("mariadb", "11.0.2")
    assert "innodb_flush_method" in names("mariadb", "10.11.19") - names("mariadb", "11.0.2")
    kinds = {v: {r.name: r.kind for r in load("mariadb").rows_for(v)} for v in ("11.0.5", "11.0.6", "11.1.2")}
    assert [kinds[v]["innodb_doublewrite"] for v in kinds] == ["bool", "enum", "enum"]
    applies = {v: {r.name: r.applies for r in load("mariadb").rows_for(v)} for v in ("10.8.3", "10.9.1", "10.10.7")}
    assert applies["10.8.3"]["innodb_log_file_size"] == "restart"
    assert applies["10.9.1"]["innodb_log_file_size"] == applies["10.10.7"]["innodb_log_file_size"] == "reload"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gb", [1, 4, 64])
@pytest.mark.parametrize("rotational", [False, True])
def test_every_range_holds_the_live_value_and_the_rule_based_one(engine: str, gb: int, rotational: bool) -> None:
    server = a_mysqld(engine, gb, rotational=rotational, myrocks=True)
    live_settings = meet(server)
    for policy in (Policy(), everything(server)):
        space, live, ruled = live_settings.space(policy), live_settings.values, live_settings.rule_based(policy)
        for knob in space:
            assert live[knob.name] in knob.domain, knob.name
            assert ruled[knob.name] in knob.domain, knob.name
        assert space.refusal(ruled) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_durability_is_kept_unless_the_operator_opts_in(engine: str) -> None:
    server = a_mysqld(engine, myrocks=engine == "mariadb")
    assert {k.risk for k in meet(server).space(Policy())} == {"none"}
    allowed = {k.name for k in meet(server).space(Policy(durability=True)) if k.risk == "durability"}
    assert {"innodb_flush_log_at_trx_commit", "sync_binlog"} <= allowed
    others = ("innodb_log_compressed_pages",) if engine == "mysql" else ()
    for name in ("innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_doublewrite", *others):
        with pytest.raises(InvalidConfiguration, match="it has values that can lose committed data"):
            meet(server).space(Policy(movable=frozenset({name})))


def test_connections_are_never_fewer_than_now_or_than_the_peak_and_a_margin() -> None:
    assert number(a_mysqld("mysql"), "max_connections").low == 151
    assert number(a_mysqld("mariadb", peak_connections=400), "max_connections").low == 510


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sort_keeps_enough_memory_for_a_few_long_rows(engine: str) -> None:
    assert number(a_mysqld(engine), "sort_buffer_size").low == 256 * 1024


@pytest.mark.parametrize("engine", ENGINES)
def test_the_limit_of_tables_that_applications_make_stays(engine: str) -> None:
    server = a_mysqld(engine, 1, max_heap_table_size="64M", max_connections=1000)
    assert "max_heap_table_size" not in meet(server).space(Policy())
    assert "max_heap_table_size" not in meet(server).rule_based(Policy())


def test_the_buffer_pool_moves_in_whole_chunks_of_every_instance() -> None:
    server = a_mysqld("mysql", 64, innodb_buffer_pool_instances=8, innodb_buffer_pool_size="8G")
    domain = number(server, "innodb_buffer_pool_size")
    assert domain.step == GB
    assert domain.clip(5.4 * GB) == 5 * GB
    assert 5 * GB + 128 * MB not in domain
    ruled = meet(server).rule_based(Policy())["innodb_buffer_pool_size"]
    assert isinstance(ruled, int)
    assert ruled % GB == 0
    assert number(a_mysqld("mariadb"), "innodb_buffer_pool_size").step == MB
    older = a_mysqld("mariadb", innodb_buffer_pool_chunk_size=128 * MB)
    assert number(older, "innodb_buffer_pool_size").step == 128 * MB


def test_a_buffer_pool_that_may_not_grow_gets_room_before_it_is_raised() -> None:
    server = a_mysqld("mariadb", 8, innodb_buffer_pool_size_max=128 * MB)
    ruled = meet(server).rule_based(Policy())
    pool, most = ruled["innodb_buffer_pool_size"], ruled["innodb_buffer_pool_size_max"]
    assert isinstance(pool, int)
    assert isinstance(most, int)
    assert 0.6 * 8 * GB < pool <= most
    assert most % (8 * MB) == 0
    order = [c.name for c in meet(server).changes(ruled) if c.name.startswith("innodb_buffer_pool_size")]
    assert order == ["innodb_buffer_pool_size_max", "innodb_buffer_pool_size"]
    grown = a_mysqld("mariadb", 8, innodb_buffer_pool_size_max=most)
    assert "innodb_buffer_pool_size_max" not in meet(grown).space(Policy())
    assert number(grown, "innodb_buffer_pool_size").high <= most


@pytest.mark.parametrize(
    ("engine", "name"), [("mysql", "innodb_redo_log_capacity"), ("mariadb", "innodb_log_file_size")]
)
def test_a_redo_log_that_dwarfs_the_pages_it_is_for_is_not_searched(engine: str, name: str) -> None:
    server = a_mysqld(engine, 4)
    roomy = replace(server, host=replace(server.host, disk_bytes=4000 * GB))
    assert number(roomy, name).high == 8 * GB


@pytest.mark.parametrize(
    ("capacity", "file_size", "moves"),
    [(100 * MB, 48 * MB, True), (100 * MB, GB, False), (200 * MB, GB, True)],
)
def test_a_redo_capacity_that_older_settings_decide_does_not_move(capacity: int, file_size: int, moves: bool) -> None:
    server = a_mysqld("mysql", innodb_redo_log_capacity=capacity)
    older = {"innodb_log_file_size": file_size, "innodb_log_files_in_group": 2}
    live = {n: ServerSetting(str(v), kind="integer", applies="restart") for n, v in older.items()}
    server = replace(server, version="8.4.6", settings={**server.settings, **live})
    space = meet(server).space(Policy())
    assert ("innodb_redo_log_capacity" in space) == moves
    assert not set(older) & set(space.names)


def test_a_value_that_is_no_multiple_shows_that_the_server_does_not_round() -> None:
    assert number(a_mysqld("mariadb", join_buffer_size=262145), "join_buffer_size").step == 1


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 2**40), st.integers(1, 30), st.integers(1, 1000), st.integers(1, 1000))
def test_clipping_to_steps_stays_inside_and_is_idempotent(value: float, step: int, low: int, more: int) -> None:
    domain = Number(low * step, (low + more) * step, integer=True, step=step)
    clipped = domain.clip(value)
    assert clipped in domain
    assert domain.clip(clipped) == clipped


def test_a_setting_without_effect_here_does_not_move() -> None:
    with pytest.raises(InvalidConfiguration, match="thread_pool_size has no effect on this server: it needs thread_h"):
        number(a_mysqld("mariadb"), "thread_pool_size")
    pooled = a_mysqld("mariadb", thread_handling="pool-of-threads")
    assert number(pooled, "thread_pool_size").high == 16
    with pytest.raises(InvalidConfiguration, match="innodb_doublewrite cannot be changed on this server"):
        meet(a_mysqld("mysql")).space(Policy(movable=frozenset({"innodb_doublewrite"}), durability=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_settings_of_the_binary_log_move_only_where_there_is_one(engine: str) -> None:
    server = a_mysqld(engine)

    def searched(log: str) -> set[str]:
        log_bin = ServerSetting(log, kind="bool", applies="restart")
        live = replace(server, settings={**server.settings, "log_bin": log_bin})
        return set(meet(live).space(Policy(durability=True)).names)

    assert searched("ON") - searched("OFF") >= {"sync_binlog", "binlog_cache_size"}
    assert not [n for n in searched("OFF") if "binlog" in n]
    assert "log_bin" not in searched("ON")


def test_a_setting_that_the_catalogue_only_shows_does_not_move() -> None:
    server = a_mysqld("mariadb")
    log_bin = ServerSetting("ON", kind="bool", applies="restart")
    with pytest.raises(InvalidConfiguration, match="log_bin cannot be changed on this server"):
        meet(replace(server, settings={**server.settings, "log_bin": log_bin})).space(only("log_bin"))


@pytest.mark.parametrize("engine", ENGINES)
def test_much_of_what_is_searched_on_a_small_host_is_within_its_memory(engine: str) -> None:
    space = meet(a_mysqld(engine, 4, 2)).space(Policy())
    high = {k.name: k.domain.high for k in space if isinstance(k.domain, Number)}
    current = meet(a_mysqld(engine, 4, 2)).values
    tables, *others = ("tmp_table_size", "max_heap_table_size"), ("sort_buffer_size",), ("join_buffer_size",)
    for names in (tables, *others, ("read_rnd_buffer_size",)):
        refusal = space.refusal(current.restrict(space.names).replace({n: high[n] for n in names if n in high}))
        assert refusal is None or refusal.code == "coupling", names


def test_myrocks_has_its_settings_where_the_server_has_the_plugin() -> None:
    with_it = {k.name for k in meet(a_mysqld("mariadb", myrocks=True)).space(Policy())}
    without = {k.name for k in meet(a_mysqld("mariadb")).space(Policy())}
    assert {"rocksdb_block_cache_size", "rocksdb_db_write_buffer_size"} <= with_it - without
    assert not any(n.startswith("rocksdb_") for n in without)


def test_an_option_is_one_that_the_server_takes_whether_or_not_it_is_searched() -> None:
    server = a_mysqld("mysql")
    assert meet(server).parse("innodb_flush_method", "o_dsync") == "O_DSYNC"
    with pytest.raises(InvalidConfiguration, match="innodb_flush_method: 'async' is not one of fsync, O_DIRECT"):
        meet(server).parse("innodb_flush_method", "async")
    assert meet(server).space(Policy())["innodb_flush_neighbors"].domain == Choice(("0", "1", "2"))


def test_a_log_buffer_is_held_against_the_redo_capacity_only_where_there_is_one() -> None:
    def refused(version: str) -> bool:
        server = replace(a_mysqld("mysql", innodb_log_buffer_size="16M"), version=version)
        server = replace(server, settings={n: s for n, s in server.settings.items() if n != "innodb_redo_log_capacity"})
        space = meet(server).space(only("innodb_log_buffer_size"))
        return space.refusal(Configuration({"innodb_log_buffer_size": 80 * MB})) is not None

    assert not refused("8.0.29")
    assert refused("8.0.30")
