from __future__ import annotations

from dataclasses import replace

import pytest
from lutra_models.catalog import meet
from lutra_models.server import Policy, ServerSetting

from tests.support.reported.mysql import a_mysqld

ENGINES = ("mysql", "mariadb")
GB = 2**30
MB = 2**20


@pytest.mark.parametrize("engine", ENGINES)
def test_on_a_host_of_its_own_the_rules_are_the_manuals_two_settings(engine: str) -> None:
    server = a_mysqld(engine, 64)
    ruled = meet(server).rule_based(Policy())
    pool = ruled["innodb_buffer_pool_size"]
    assert isinstance(pool, int)
    assert 0.65 * 64 * GB < pool <= 0.75 * 64 * GB
    redo = ruled["innodb_redo_log_capacity" if engine == "mysql" else "innodb_log_file_size"]
    assert isinstance(redo, int)
    assert redo >= 8 * GB
    assert meet(server).worst_case(ruled).total_bytes <= meet(server).memory_limit(Policy())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_spinning_disk_gets_no_more_redo_than_it_recovers_in_a_while(engine: str) -> None:
    ruled = meet(a_mysqld(engine, 64, rotational=True)).rule_based(Policy())
    assert ruled["innodb_redo_log_capacity" if engine == "mysql" else "innodb_log_file_size"] == 2 * GB


def test_a_spinning_disk_gets_two_redo_files_of_a_gigabyte_before_8_0_30() -> None:
    server = a_mysqld("mysql", 64, rotational=True)
    live = {**server.settings, "innodb_log_file_size": ServerSetting(str(48 * MB), kind="integer", applies="restart")}
    ruled = meet(replace(server, version="8.0.29", settings=live)).rule_based(Policy())
    assert ruled["innodb_log_file_size"] == GB


@pytest.mark.parametrize("engine", ENGINES)
def test_a_disk_of_unknown_kind_keeps_what_the_server_has_by_default(engine: str) -> None:
    server = a_mysqld(engine, 64, rotational=None)
    live = meet(server)
    ruled = live.values.replace(live.rule_based(Policy()))
    flushing = ("innodb_io_capacity", "innodb_io_capacity_max", "innodb_flush_neighbors", "innodb_change_buffering")
    there = [name for name in flushing if name in live.values]
    assert len(there) >= 3
    assert ruled.restrict(there) == live.values.restrict(there)


@pytest.mark.parametrize("engine", ENGINES)
def test_on_a_small_host_the_rule_leaves_room_for_what_the_server_needs_besides(engine: str) -> None:
    pool = meet(a_mysqld(engine, 1)).rule_based(Policy())["innodb_buffer_pool_size"]
    assert isinstance(pool, int)
    assert pool <= 0.4 * GB


def test_a_buffer_pool_that_only_a_restart_lets_grow_stays_where_nothing_restarts() -> None:
    server = a_mysqld("mariadb", 8, innodb_buffer_pool_size_max=128 * MB)
    assert meet(server).rule_based(Policy(restart=False))["innodb_buffer_pool_size"] == 128 * MB


@pytest.mark.parametrize(
    ("cores", "log_bin", "version", "threads"),
    [
        (31, "ON", "9.7.4", "OFF"),
        (32, "ON", "9.7.4", "ON"),
        (8, "OFF", "9.7.4", "ON"),
        (4, "OFF", "9.7.4", "OFF"),
        (8, "OFF", "8.4.6", "OFF"),
    ],
)
def test_redo_is_written_by_threads_of_its_own_where_the_server_would_choose_them(
    cores: float, log_bin: str, version: str, threads: str
) -> None:
    server = a_mysqld("mysql", 8, cores)
    live = {**server.settings, "log_bin": ServerSetting(log_bin, kind="bool", applies="fixed")}
    ruled = meet(replace(server, version=version, settings=live)).rule_based(Policy())
    assert ruled["innodb_log_writer_threads"] == threads


def test_mariadb_writes_neighbours_only_where_the_disk_spins() -> None:
    assert "innodb_flush_neighbors" not in meet(a_mysqld("mariadb")).space(Policy())
    spinning = a_mysqld("mariadb", rotational=True, innodb_flush_neighbors="0")
    assert meet(spinning).rule_based(Policy())["innodb_flush_neighbors"] == "1"


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_where_losing_commits_is_allowed_the_rules_lose_the_least_of_it(engine: str) -> None:
    live = meet(a_mysqld(engine))
    space, now = live.space(Policy(durability=True)), live.values
    found = live.rule_based(Policy(durability=True))
    moved = {k.name: found[k.name] for k in space if k.risk == "durability" and found[k.name] != now[k.name]}
    assert moved.pop("innodb_flush_log_at_trx_commit") == "2"
    assert set(moved) <= {"sync_binlog"}
    assert "innodb_flush_log_at_trx_commit" not in live.rule_based(Policy())
