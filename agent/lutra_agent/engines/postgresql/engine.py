"""PostgreSQL, as the agent sees it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from lutra_models.catalog import Change, load
from lutra_models.server import Host, Role, Server
from lutra_models.wire import ApplyCode

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.common.engine import Latency, Permissions, Sample, Statement, Targets, Visible
from lutra_agent.engines.postgresql import histogram, statements
from lutra_agent.engines.postgresql.collect import Collect
from lutra_agent.engines.postgresql.connect import Connection, quoted
from lutra_agent.engines.postgresql.permissions import read_permissions
from lutra_agent.engines.postgresql.settings import SETTINGS_FILE, parse_settings_file, read_settings, rewritten
from lutra_agent.engines.postgresql.visible import visible
from lutra_agent.errors import ApplyRefused, CollectionFailed, ConfigError

IDENTITY = """SELECT current_setting('server_version'), pg_postmaster_start_time()::text, pg_is_in_recovery()"""


@dataclass(frozen=True)
class ExtensionReadings:
    """What the two extensions showed at a sample, where they are installed."""

    statements: statements.Statements | None = None
    histogram: histogram.Histogram | None = None


@dataclass(frozen=True)
class ServerIdentity:
    """What stays the same until the server restarts."""

    version: str
    identifier: str
    data_dir: Path | None
    statements: statements.StatementsView | None
    histogram: histogram.HistogramView | None

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0].rstrip("abcdefghijklmnopqrstuvwxyz"))


class PostgreSQL:
    family = "postgresql"
    programs: tuple[str, ...] = ("postgres", "postmaster")
    rounds = False
    reads_file_at_start_alone = False

    def __init__(self, database: DatabaseConfig) -> None:
        """Raises ConfigError without a database: a connection is always to one."""
        if not database.dbname:
            raise ConfigError("database.dbname is missing: the one in which pg_stat_statements was created")
        self._connection = Connection(database)
        self._reader = statements.StatementsReader()
        self._identity: tuple[str, ServerIdentity] | None = None
        self._peak = 0.0

    def ping(self) -> None:
        self._connection.row("SELECT 1")

    def started(self) -> str:
        return str(self._connection.row("SELECT pg_postmaster_start_time()::text")[0])

    def server(self, host: Host) -> Server:
        identity, role = self._identity_and_role()
        names = tuple(r.name for r in load(self.family).rows_for(identity.version))
        settings = read_settings(self._connection, names, self.settings_file())
        return Server(self.family, identity.version, settings, host, role, int(self._peak), identity.identifier)

    def sample(self, at: datetime, monotonic_s: float) -> Sample:
        identity, _ = self._identity_and_role()
        sample = Collect(self._connection, identity.major).sample(at, monotonic_s)
        if "activity" in sample.readings:
            self._peak = max(self._peak, sample.readings["activity"].gauges["connections"])
        try:
            return replace(sample, statements=self._extension_readings(identity))
        except CollectionFailed as error:
            return replace(sample, problems=(*sample.problems, f"statements: {error}"))

    def targets(self, before: Sample, after: Sample) -> Targets:
        seconds = after.monotonic_s - before.monotonic_s
        found = _from_extensions(
            before.statements or ExtensionReadings(), after.statements or ExtensionReadings(), seconds
        )
        old, new = before.readings.get("database"), after.readings.get("database")
        if old is None or new is None:
            return found
        committed, rolled_back = (new.counters[c] - old.counters[c] for c in ("xact_commit", "xact_rollback"))
        ended = max(committed + rolled_back, 0.0)
        errors = {"error_share": min(max(rolled_back / ended, 0.0), 1.0)} if ended else {}
        return replace(found, metrics={**found.metrics, **errors, "tps": ended / seconds})

    def permissions(self, names: Iterable[str]) -> Permissions:
        identity, _ = self._identity_and_role()
        return read_permissions(self._connection, identity.major, tuple(names), self.settings_file())

    def execute(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            try:
                self._connection.change(statement.text)
            except CollectionFailed as error:
                raise ApplyRefused(_code(str(error)), f"{statement.setting}: {error}") from error

    def change(self, change: Change, restart: bool) -> tuple[Statement, ...]:
        return (Statement(change.name, change.do),)

    def undo_statements(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Statement, ...]:
        # The reload makes active what the file says.
        setting = name if re.fullmatch(r"[a-z_][a-z0-9_.]*", name) else quoted(name)
        if text is None:
            return (Statement(name, f"ALTER SYSTEM RESET {setting}"),)
        escaped = text.replace("'", "''")
        return (Statement(name, f"ALTER SYSTEM SET {setting} = '{escaped}'"),)

    def reload(self) -> None:
        try:
            self._connection.row("SELECT pg_reload_conf()")
        except CollectionFailed as error:
            raise ApplyRefused("insufficient_privilege", f"pg_reload_conf(): {error}") from error

    def settings_file(self) -> Path | None:
        return self.settings_file_in(self._identity_and_role()[0].data_dir)

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        return None if data_dir is None else data_dir / SETTINGS_FILE

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        return rewritten(content.decode(), texts).encode()

    def file_says(self, content: bytes) -> Mapping[str, str]:
        return parse_settings_file(content.decode(errors="replace"))

    def data_dir(self) -> Path | None:
        return self._identity_and_role()[0].data_dir

    def process_id(self) -> int | None:
        directory = self._identity_and_role()[0].data_dir
        try:
            return None if directory is None else int((directory / "postmaster.pid").read_text().split("\n", 1)[0])
        except (OSError, ValueError):
            return None

    def visible(self) -> tuple[Visible, ...]:
        identity, _ = self._identity_and_role()
        return visible(self._connection, identity.major, identity.statements, identity.histogram)

    def close(self) -> None:
        self._connection.close()

    def _extension_readings(self, identity: ServerIdentity) -> ExtensionReadings:
        return ExtensionReadings(
            self._reader.read(self._connection, identity.statements) if identity.statements else None,
            histogram.read(self._connection, identity.histogram) if identity.histogram else None,
        )

    def _identity_and_role(self) -> tuple[ServerIdentity, Role]:
        """The server's identity, read again after each restart, and its role, read each time."""
        version, started, standby = self._connection.row(IDENTITY)
        if self._identity is None or self._identity[0] != started:
            views = statements.find(self._connection), histogram.find(self._connection)
            self._identity = (started, ServerIdentity(version.split()[0], self._identifier(), self._data_dir(), *views))
        return self._identity[1], "standby" if standby else "primary"

    def _identifier(self) -> str:
        try:
            return str(self._connection.row("SELECT system_identifier FROM pg_control_system()")[0])
        except CollectionFailed:
            return ""

    def _data_dir(self) -> Path | None:
        try:
            return Path(self._connection.row("SELECT current_setting('data_directory')")[0])
        except CollectionFailed:
            return None  # for superusers and members of pg_read_all_settings


def _from_extensions(before: ExtensionReadings, after: ExtensionReadings, seconds: float) -> Targets:
    """qps and p99: a histogram is a measurement and goes before the estimate."""
    found = Targets()
    if before.statements is not None and after.statements is not None:
        found = statements.targets(before.statements, after.statements, seconds)
    if before.histogram is not None and after.histogram is not None:
        p99 = histogram.p99_ms(before.histogram, after.histogram)
        if p99 is not None:
            found = replace(found, latency=Latency(p99, "histogram", "statement"))
    return found


def _code(text: str) -> ApplyCode:
    return "insufficient_privilege" if "[42501]" in text else "invalid_value"
