"""Subjects of the MySQL family, for the conformance suite and for tests that break them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lutra_agent.clock import SystemClock
from lutra_agent.config.types import DatabaseConfig, RestartConfig
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family
from lutra_agent.lab.mysqld import ScratchMysqld

from tests.support.conformance import Subject

AT_ONCE: dict[str, dict[str, Any]] = {
    # The capacity is above the maximum that stands before: whichever comes first, both have to hold in the end.
    "mysql": {"innodb_io_capacity": 30000, "innodb_io_capacity_max": 40000, "sort_buffer_size": 524288},
    "mariadb": {"innodb_io_capacity": 3000, "innodb_io_capacity_max": 6000, "sort_buffer_size": 524288},
}
MORE_AT_ONCE = {"innodb_buffer_pool_size": 256 << 20, "innodb_adaptive_hash_index": "on"}
WITH_RESTART: dict[str, dict[str, Any]] = {
    "mysql": {"table_open_cache_instances": 4, "innodb_sort_buffer_size": 2 << 20},
    "mariadb": {"table_open_cache_instances": 4, "innodb_log_buffer_size": 32 << 20},
}
PREVENTS_BOOT: dict[str, dict[str, Any]] = {
    "mysql": {"thread_stack": 1 << 40},
    "mariadb": {"innodb_buffer_pool_size_max": 1 << 60},
}
BY_ITSELF = frozenset({"timestamp", "gtid_executed", "gtid_purged", "rand_seed1", "rand_seed2"})


def database(server: ScratchMysqld, **more: Any) -> DatabaseConfig:
    fields: dict[str, Any] = {"engine": server.engine, "host": server.host, "port": server.port}
    fields |= {"user": server.user, "dbname": server.dbname, "include_file": server.include_file}
    return DatabaseConfig(**{**fields, **more})


def engine_of(server: ScratchMysqld, **more: Any) -> Engine:
    made = database(server, **more)
    return family(made.engine).open(made)


def restart_config(server: ScratchMysqld) -> RestartConfig:
    return RestartConfig(tuple(server.restart_command), tuple(server.start_command), 60.0, server.data_dir)


def subject_of(server: ScratchMysqld, folder: Path, **more: Any) -> Subject:
    engine, clock = engine_of(server, **more), SystemClock()

    def load() -> None:
        for _ in range(20):
            server.sql("SELECT COUNT(*) FROM information_schema.TABLES")

    return Subject(
        engine,
        ServerControl(restart_config(server), engine, clock),
        folder,
        lambda: variables(server),
        load,
        server.stop,
        {**AT_ONCE[server.engine], **MORE_AT_ONCE},
        WITH_RESTART[server.engine],
        PREVENTS_BOOT[server.engine],
        {"sort_buffer_size": -1},
    )


def variables(server: ScratchMysqld) -> dict[str, str]:
    """Every global variable as a fresh connection reads it, but those that the server changes by itself."""
    lines = (line.partition("|") for line in server.sql("SHOW GLOBAL VARIABLES").split("\n"))
    return {name: value for name, _, value in lines if name not in BY_ITSELF}
