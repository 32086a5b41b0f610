"""A MySQL and a MariaDB with many things made wrong: a load that shows them, the cures, and the symptoms gone."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.section import MariadbDatabase
from lutra_agent.engines.mysql.telemetry.collectors import base
from lutra_agent.errors import ConfigError
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_models.knobs import Value

from tests.support.servers.engines import MYSQLDS, scratch
from tests.support.servers.symptomatic import Patient, cures
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.engine

WRONG = {
    "binlog_cache_size": "4096",
    "binlog_format": "ROW",
    "innodb_buffer_pool_size": "16M",
    "innodb_flush_log_at_trx_commit": "2",
    "innodb_io_capacity": "100",
    "innodb_io_capacity_max": "100",
    "innodb_lru_scan_depth": "100",
    "join_buffer_size": "128",
    "log_bin": "log",
    "server_id": "1",
    "max_connections": "12",
    "max_heap_table_size": "16384",
    "open_files_limit": "10000",
    "sort_buffer_size": "32768",
    "sync_binlog": "0",
    "table_open_cache": "10",
    "thread_cache_size": "0",
    "tmp_table_size": "16384",
}
OWN = {
    "mariadb": {
        "innodb_log_file_size": "10M",
        "query_cache_type": "ON",
        "query_cache_size": "1M",
        "innodb_adaptive_hash_index": "ON",
    },
    "mysql": {"innodb_redo_log_capacity": "8M", "table_open_cache_instances": "1"},
}
COMMON = {
    "binlog_cache_small",
    "connections_near_limit",
    "joins_without_index",
    "redo_turns_fast",
    "sorts_merge",
    "table_cache_small",
    "temporary_tables_on_disk",
    "threads_not_cached",
}
SHOWN = {"mariadb": COMMON | {"query_cache_useless"}, "mysql": COMMON | {"pool_small"}}
DEFAULTED = {
    "redo.logical_bytes",
    "redo.history_list",
    "cluster.paused_ns_per_s",
    "cluster.primary",
    "cluster.ready",
    "cluster.size",
    "hosts.blocked",
    "instruments.latches",
    "instruments.share",
    "instruments.waits",
    "login.mute",
    "login.none_left",
    "replication.lag_s",
    "semi_sync.active",
    "semi_sync.clients",
}
"""What stands in for something else on the other of the two servers, and what is there alone where there is a cluster,
a replica, or the plug-in or the switch that shows it, or where nobody gets in.
"""
ROWS, TABLES = 80_000, 25
NUMBERS = "SELECT a.n * 1000 + b.n * 100 + c.n * 10 + d.n AS n FROM digits a, digits b, digits c, digits d"


@pytest.fixture(autouse=True)
def at_leisure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may take its time for what it looks through all its tables for, however busy the machine is."""
    monkeypatch.setattr(base, "LONGEST_S", PATIENCE_S)


@pytest.fixture(params=MYSQLDS)
def ill(request: pytest.FixtureRequest) -> Iterator[tuple[str, ScratchMysqld]]:
    with scratch(request.param, **WRONG, **OWN[request.param]) as server:
        assert isinstance(server, ScratchMysqld)
        fill(server)
        yield request.param, server


def fill(server: ScratchMysqld) -> None:
    """A table of twice the buffer pool, two without an index, and many small ones."""
    with server.session() as run:
        run("CREATE TABLE digits (n INT)")
        run(f"INSERT INTO digits VALUES {', '.join(f'({n})' for n in range(10))}")
        run("CREATE TABLE t (id INT PRIMARY KEY, v INT, k INT, pad VARCHAR(300))")
        for part in range(ROWS // 10_000):
            run(f"INSERT INTO t SELECT {part * 10_000} + n, 0, n % 997, REPEAT('x', 300) FROM ({NUMBERS}) x")
        for name in ("u", "w"):
            run(f"CREATE TABLE {name} AS SELECT n AS k FROM ({NUMBERS}) x WHERE n < 500")
        for table in range(TABLES):
            run(f"CREATE TABLE t{table} (a INT)")


def load(server: ScratchMysqld) -> None:
    """Updates, sorts, groups and joins, point reads, many tables in turn, and connections that come and go.

    In the end a whole table is read: what temporary tables leave free in the pool is full again when it is looked at.
    """
    with server.session() as run:
        for part in range(8):
            picked = ", ".join(str(n * 7919 % ROWS) for n in range(part * 1200, part * 1200 + 1200))
            run(f"SELECT SUM(v) FROM t WHERE id IN ({picked})")
            some = f"SELECT pad FROM t WHERE id < {600 + part} ORDER BY CRC32(id) LIMIT 599"
            run(f"SELECT SUM(LENGTH(pad)) FROM ({some}) x")
            run(f"SELECT COUNT(*) FROM (SELECT k, pad, COUNT(*) FROM t WHERE id < {600 + part} GROUP BY k, pad) x")
            run(f"SELECT COUNT(*) FROM u JOIN w ON u.k = w.k + {part}")
        for turn in range(4):
            for table in range(TABLES):
                run(f"SELECT COUNT(*) + {turn} FROM t{table}")
        for part in range(0, 9000, 30):
            run(f"UPDATE t SET v = v + 1, pad = REPEAT('y', 299 + v % 2) WHERE id BETWEEN {part} AND {part + 29}")
    for _ in range(40):
        server.sql("SELECT 1")
    server.sql("SELECT SUM(LENGTH(pad)) FROM t")


@contextmanager
def crowd(server: ScratchMysqld) -> Iterator[None]:
    """Nine more connections, all that the server has besides an agent's and the load's."""
    with ExitStack() as others:
        for _ in range(9):
            others.enter_context(server.session())
        yield


def cured(server: ScratchMysqld, settings: Mapping[str, Value]) -> None:
    with server.file.open("a") as file:
        file.write("\n[mysqld]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))


def test_what_is_wrong_shows_with_its_cure_and_is_gone_with_it(ill: tuple[str, ScratchMysqld], tmp_path: Path) -> None:
    name, server = ill
    patient = Patient(server, tmp_path)
    with crowd(server):
        found = patient.seen(lambda: load(server))
    assert SHOWN[name] <= set(found)
    assert patient.unmeasured <= DEFAULTED
    server.stop()
    cured(server, cures(found))
    server.start()
    with crowd(server):
        again = patient.seen(lambda: load(server))
    in_full = {n for n in SHOWN[name] if all(c.obstacle is None for c in found[n].cures)}
    assert len(in_full) >= len(SHOWN[name]) - 3
    assert not in_full & set(again)


def test_a_temporary_table_that_its_type_puts_on_disk_gets_no_more_memory(tmp_path: Path) -> None:
    with scratch("mariadb") as server:
        assert isinstance(server, ScratchMysqld)
        server.sql("CREATE TABLE visits (id INT PRIMARY KEY, referer TEXT)")
        server.sql("INSERT INTO visits SELECT seq, CONCAT('https://example.org/', seq % 17) FROM seq_1_to_300")

        def grouped() -> None:
            with server.session() as run:
                for _ in range(200):
                    run("SELECT referer, COUNT(*) FROM visits GROUP BY referer ORDER BY 2 DESC LIMIT 5")

        found = Patient(server, tmp_path).seen(grouped)
        assert "temporary_tables_on_disk" not in found
        assert "columns of type TEXT or BLOB" in found["temporary_tables_by_type"].sentence


@pytest.mark.parametrize("by_socket", [True, False])
def test_an_account_by_ed25519_is_answered_with_the_package_that_it_needs(
    by_socket: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYSQL_PWD", "s3cret")
    monkeypatch.setitem(sys.modules, "nacl", None)
    with scratch("mariadb") as server:
        assert isinstance(server, ScratchMysqld)
        server.sql("INSTALL SONAME 'auth_ed25519'")
        for host in ("localhost", "127.0.0.1"):
            server.sql(f"CREATE USER lutra@'{host}' IDENTIFIED VIA ed25519 USING PASSWORD('s3cret')")
        host = str(server.socket) if by_socket else "127.0.0.1"
        database = MariadbDatabase("mariadb", host, server.port, "lutra")
        with pytest.raises(ConfigError, match=r"pip install 'PyMySQL\[ed25519\]' beside the agent"):
            Connection(database).admitted()
