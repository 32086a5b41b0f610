"""The MySQL family, as the agent sees it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from lutra_models.catalog import Change, load
from lutra_models.catalog.rows import KnobRow
from lutra_models.server import Host, Role, Server

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.common.engine import Permissions, Reading, Sample, Statement, Targets, Visible
from lutra_agent.engines.mysql import grants
from lutra_agent.engines.mysql.changing import Changing
from lutra_agent.engines.mysql.collectors import COLLECTORS
from lutra_agent.engines.mysql.collectors.base import Status
from lutra_agent.engines.mysql.flavour import Flavour, ServerIdentity
from lutra_agent.engines.mysql.histogram import MS_PER_S, Histogram
from lutra_agent.engines.mysql.server import replica
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.targets import TargetCounters, targets
from lutra_agent.errors import CollectionFailed, ConfigError


class MysqlFamily:
    rounds = True
    reads_file_at_start_alone = True

    def __init__(self, database: DatabaseConfig, flavour: Flavour, now_s: Callable[[], float] = time.time) -> None:
        self.family = flavour.family
        self.programs = flavour.programs
        self._flavour = flavour
        self._now_s = now_s
        self._connection = Connection(database)
        self._changing = Changing(database, self._connection, now_s)
        self._identity: tuple[int, ServerIdentity] | None = None
        self._standstill = replica.Standstill()
        self._peak = 0.0

    def ping(self) -> None:
        self._connection.row("SELECT 1")

    def started(self) -> str:
        # Read anew each time: a server listens a moment before it writes the file.
        data_dir, pid_file = map(str, self._connection.row("SELECT @@GLOBAL.datadir, @@GLOBAL.pid_file"))
        file = Path(data_dir) / pid_file
        return " ".join(str(fact) for fact in (_pid(file), _started_s(file)) if fact is not None)

    def server(self, host: Host) -> Server:
        identity = self._current_identity()
        settings = self._flavour.settings(self._connection, tuple(self._rows().values()), identity)
        peak, name = int(self._peak), identity.identifier
        return Server(self.family, identity.version, settings, host, self._role(), peak, name)

    def sample(self, at: datetime, monotonic_s: float) -> Sample:
        self._current_identity()
        problems: list[str] = []
        status: Status = {str(n): str(v) for n, v in self._connection.rows("SHOW GLOBAL STATUS")}
        own = float(self._connection.row("SHOW SESSION STATUS LIKE 'Questions'")[1]) + self._changing.questions
        readings = {"server": self._epoch(status), **self._readings(status, problems)}
        self._peak = max(self._peak, readings["threads"].gauges.get("most_used", 0.0) if "threads" in readings else 0.0)
        if "replication" in readings:
            readings["replication"] = self._standstill.with_lag(readings["replication"], monotonic_s)
        try:
            histogram = self._histogram()
        except CollectionFailed as error:
            histogram = None
            problems.append(f"histogram: {error}")
        counters = TargetCounters(own, histogram, self._flavour.transactions(self._connection))
        return Sample(at, monotonic_s, readings, counters, tuple(problems))

    def targets(self, before: Sample, after: Sample) -> Targets:
        return targets(before, after)

    def permissions(self, names: Iterable[str]) -> Permissions:
        self._current_identity()
        held, account = grants.read(self._connection)
        found = self._flavour.permissions(held, account, {n: self._restarts(n) for n in names})
        try:
            replica.channels(self._connection)
        except CollectionFailed as error:
            return replica.unseen(found, self._connection.server_version, account, str(error))
        return found

    def change(self, change: Change, restart: bool) -> tuple[Statement, ...]:
        # A live server may take minutes to shrink a buffer pool full of changed pages; one that starts does not.
        return self._flavour.make(change.name, str(change.after), restart or change.applies == "restart")

    def undo_statements(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Statement, ...]:
        return self._flavour.undo_statements(name, text, active, restart or self._restarts(name))

    def execute(self, statements: Sequence[Statement]) -> None:
        self._changing.execute(statements)

    def reload(self) -> None:
        self._changing.wait()

    def settings_file(self) -> Path | None:
        return self._flavour.file(self._current_identity().data_dir)

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        return self._flavour.file(data_dir)

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        return self._flavour.rewritten(content, texts, self._now_s())

    def file_says(self, content: bytes) -> Mapping[str, str]:
        return self._flavour.file_says(content)

    def data_dir(self) -> Path | None:
        return self._current_identity().data_dir

    def process_id(self) -> int | None:
        return self._current_identity().pid

    def visible(self) -> tuple[Visible, ...]:
        self._current_identity()
        held, account = grants.read(self._connection)
        status: Status = {str(n): str(v) for n, v in self._connection.rows("SHOW GLOBAL STATUS")}
        seen = []
        for collector in COLLECTORS:
            try:
                there = collector.read(self._connection, status) is not None
                seen.append(Visible(collector.view, there, "" if there else "this server has none of it"))
            except CollectionFailed as error:
                seen.append(Visible(collector.view, False, str(error)))
        return (*seen, *self._flavour.visible(self._connection, held, account))

    def close(self) -> None:
        self._connection.close()

    def _histogram(self) -> Histogram | None:
        # The statement that reads the histogram is in the next one: the server counts it when it is over.
        own, self._connection.durations_s = self._connection.durations_s, []
        found = self._flavour.histogram(self._connection)
        return found and replace(found, own_ms=tuple(MS_PER_S * s for s in own))

    def _readings(self, status: Status, problems: list[str]) -> dict[str, Reading]:
        readings = {}
        for collector in COLLECTORS:
            try:
                reading = collector.read(self._connection, status)
            except CollectionFailed as error:
                problems.append(f"{collector.name}: {error}")
                continue
            if reading is not None:
                readings[collector.name] = reading
        return readings

    def _epoch(self, status: Status) -> Reading:
        """FLUSH STATUS makes the second clock go back; a restart ends the connection."""
        uptimes = {"uptime_s": "Uptime", "uptime_since_flush_s": "Uptime_since_flush_status"}
        counters = {ours: float(status[theirs]) for ours, theirs in uptimes.items() if theirs in status}
        return Reading(counters, epoch=str(self._connection.generation))

    def _rows(self) -> dict[str, KnobRow]:
        return {r.name: r for r in load(self.family).rows_for(self._current_identity().version)}

    def _restarts(self, name: str) -> bool:
        row = self._rows().get(name)
        try:
            return row is not None and self._flavour.restarts(self._connection, row)
        except CollectionFailed:  # without room for a temporary table, say: the catalogue knows as well
            return row is not None and row.applies == "restart"

    def _role(self) -> Role:
        if self._connection.row("SELECT @@GLOBAL.read_only")[0]:
            return "standby"
        try:
            return "standby" if replica.channels(self._connection) else "primary"
        except CollectionFailed:
            return "primary"  # as far as this account may know; `permissions` lets nothing be changed then

    def _current_identity(self) -> ServerIdentity:
        """Read again after each dial: what answers then may be another server."""
        query = "SELECT VERSION(), @@GLOBAL.datadir, @@GLOBAL.pid_file"
        if self._identity is None or self._identity[0] != self._connection.generation:
            version, data_dir, pid_file = map(str, self._connection.row(query))
            if not self._flavour.serves(version):
                raise ConfigError(f"database.engine = {self.family!r}, but the server calls itself {version}")
            file = Path(data_dir) / pid_file
            name = self._flavour.identifier(self._connection)
            identity = ServerIdentity(version, Path(data_dir), _pid(file), _started_s(file), name)
            self._identity = (self._connection.generation, identity)
        return self._identity[1]


def _pid(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _started_s(pid_file: Path) -> float | None:
    # The server writes it once it has read its options, by the clock that the agent's lines are written by. The
    # kernel's own time of a process's start is off by up to a second.
    try:
        return pid_file.stat().st_mtime
    except OSError:
        return None
