"""sysbench over PostgreSQL, MySQL and MariaDB.

Counters restart at the end of the warm-up; percentiles are from its own histogram (± 2 %).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from lutra_agent.config.section import Section, read
from lutra_agent.config.values import Whole, within
from lutra_agent.drivers.base import Measurement, Moment, nothing, utc
from lutra_agent.drivers.ending import Progress, Watch
from lutra_agent.drivers.process import Finished, Over, Span, run
from lutra_agent.engines.common.database import Database, NamedDatabase
from lutra_agent.engines.mysql.server.sockets import socket_of
from lutra_agent.errors import ConfigError, DriverFailed
from lutra_models.ending import Level
from lutra_models.knobs import Value
from lutra_models.metrics import QPS, TPS, P99Of

from lutra_lab.drivers import progress
from lutra_lab.drivers.login import libpq_environment, require_named, require_proved

SINGLE_STATEMENT = (
    "oltp_point_select",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
    "select_random_points",
    "select_random_ranges",
)
"""Their event is one statement; another script's is a transaction."""
CLIENTS = {"postgresql": "pgsql", "mysql": "mysql", "mariadb": "mysql"}
"""The client of sysbench for an engine."""


@dataclass(frozen=True)
class Options(Section):
    kind: str
    bin: str = "sysbench"
    script: str = "oltp_read_write"
    threads: Annotated[Whole, within(1, 10_000)] = 8
    tables: Annotated[Whole, within(1, 10_000)] = 1
    table_size: Annotated[Whole, within(1, 10**10)] = 10_000
    rate: Annotated[Whole, within(0, 10**9)] = 0
    distribution: Literal["uniform", "pareto", "special", "gaussian"] = "uniform"
    warmup_s: Annotated[Whole, within(0, 86400)] = 10
    duration_s: Annotated[Whole, within(1, 86400)] = 60

    @property
    def span(self) -> Span:
        return Span(self.warmup_s, self.duration_s)


class Sysbench:
    name = "sysbench"

    def __init__(self, options: Options, database: NamedDatabase) -> None:
        if database.engine not in CLIENTS:
            raise ConfigError(f"driver.kind: sysbench does not know {database.engine!r}; it knows {', '.join(CLIENTS)}")
        self.options = options
        self.database = database
        self.client = CLIENTS[database.engine]
        if self.client == "mysql" and database.tls_ca is not None and not database.host.startswith("/"):
            # 1.0 has --mysql-ssl alone, and then wants three files of fixed names in its working folder.
            how = "database.host = the server's socket, or driver.kind = 'command'"
            raise ConfigError(f"driver.kind: sysbench cannot check this server by database.tls_ca; {how}")

    @property
    def program(self) -> str:
        return self.options.bin

    def context(self) -> dict[str, Value]:
        o = self.options
        context: dict[str, Value] = {"driver": self.name, "script": o.script, "distribution": o.distribution}
        return context | {"threads": o.threads, "tables": o.tables, "table_size": o.table_size, "rate": o.rate}

    def run(
        self, on_window_start: Moment = nothing, on_window_end: Moment = nothing, must_reach: Level | None = None
    ) -> Measurement:
        watch = self._watch(must_reach)
        finished = self._sysbench("run", self.options.span, on_window_start, on_window_end, watch)
        start_s = finished.started_s + self.options.span.warmup_s
        of: P99Of = "statement" if self.options.script in SINGLE_STATEMENT else "transaction"
        if watch and watch.found:
            return Measurement(utc(start_s), utc(finished.ended_s), {}, of, self.options.script, watch.found)
        end_s = start_s + self.options.span.duration_s
        inside = progress.low(progress.sysbench_rates(finished.stdout, self.options.span.warmup_s))
        metrics = {**parse(finished.stdout), **inside}
        return Measurement(utc(start_s), utc(end_s), metrics, of, self.options.script)

    def prepare(self) -> None:
        """Create and fill the tables. Raises DriverFailed."""
        self._sysbench("prepare", Span(0.0, 0.0, 3600.0), nothing, nothing)

    def cleanup(self) -> None:
        """Drop the tables. Raises DriverFailed."""
        self._sysbench("cleanup", Span(0.0, 0.0, 600.0), nothing, nothing)

    def _watch(self, level: Level | None) -> Watch | None:
        """Of throughput alone: a window's percentile is not one of its intervals'."""
        if level is None or level.metric not in (TPS.name, QPS.name):
            return None
        o, metric = self.options, level.metric

        def printed(out: str, _: str) -> Progress:
            return Progress(progress.sysbench_rates(out, o.warmup_s, metric), progress.interval_s(o.span.total_s))

        return Watch(level, o.duration_s, printed)

    def _sysbench(self, verb: str, span: Span, on_start: Moment, on_end: Moment, over: Over | None = None) -> Finished:
        with tempfile.TemporaryDirectory(prefix="lutra-sysbench-") as name:
            connection, env = _connection(self.client, self.database, Path(name))
            return run([*self._argv(connection), verb], env, span, on_start, on_end, over)

    def _argv(self, connection: list[str]) -> list[str]:
        o = self.options
        load = [f"--threads={o.threads}", f"--tables={o.tables}", f"--table-size={o.table_size}"]
        load += [f"--rate={o.rate}", f"--rand-type={o.distribution}"]
        # 1.0 knows no warm-up: a checkpoint prints the figures so far and restarts the counters.
        warmup = [f"--report-checkpoints={o.span.warmup_s:g}"] if o.span.warmup_s else []
        measure = [f"--time={o.span.total_s:g}", "--events=0", "--percentile=99", "--db-ps-mode=auto", *warmup]
        measure += [f"--report-interval={progress.interval_s(o.span.total_s)}"]
        return [o.bin, f"--db-driver={self.client}", *connection, *load, *measure, o.script]


def _connection(client: str, database: NamedDatabase, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment. No password among them: it is in a file of `folder`."""
    if client == "mysql":
        return mysql_options(database, folder), dict(os.environ)
    d = database
    arguments = [f"--pgsql-host={d.host}", f"--pgsql-port={d.port}", f"--pgsql-user={d.user}", f"--pgsql-db={d.dbname}"]
    return arguments, libpq_environment(database, folder)


def mysql_options(database: NamedDatabase, folder: Path) -> list[str]:
    """sysbench's arguments for a database of the MySQL family. A password goes into a file of `folder` that only this
    account can read: everybody on the host could see an argument.
    """
    host = [f"--mysql-host={database.host}", f"--mysql-port={database.port}"]
    if database.host.startswith("/"):
        host = [f"--mysql-socket={socket_of(database.host)}"]
    password = database.password()
    password = os.environ.get("MYSQL_PWD") if password is None else password
    given = [*host, f"--mysql-user={database.user}", f"--mysql-db={database.dbname}"]
    if not password:
        return given
    require_proved(database)
    file = folder / "options"
    file.touch(mode=0o600)
    quote = "'" if '"' in password else '"'
    if quote in password:
        raise DriverFailed("sysbench reads no password that has both kinds of quotation marks")
    file.write_text(f"mysql-password={quote}{password}{quote}\n")
    return [*given, f"--config-file={file}"]


_FIGURES = {
    "tps": re.compile(r"transactions:\s+\d+\s+\(([\d.]+) per sec"),
    "qps": re.compile(r"queries:\s+\d+\s+\(([\d.]+) per sec"),
    "failed_tps": re.compile(r"ignored errors:\s+\d+\s+\(([\d.]+) per sec"),
    "p99_ms": re.compile(r"99th percentile:\s+([\d.]+)"),
    "mean_ms": re.compile(r"avg:\s+([\d.]+)"),
}


def parse(stdout: str) -> dict[str, float]:
    """The figures of the last summary in it. Raises DriverFailed if one is missing or nothing was done."""
    found = {name: pattern.findall(stdout) for name, pattern in _FIGURES.items()}
    absent = [name for name, values in found.items() if not values]
    if absent:
        raise DriverFailed(f"sysbench printed no {', '.join(absent)}; its output ends {stdout[-300:]!r}")
    metrics = {name: float(values[-1]) for name, values in found.items()}
    if not metrics["tps"]:
        raise DriverFailed("sysbench completed no event within the window")
    return metrics


def build(table: Mapping[str, Any], database: Database) -> Sysbench:
    return Sysbench(read(Options, table, "driver"), require_named(database, Sysbench.name))


DRIVER = (Sysbench.name, build)
