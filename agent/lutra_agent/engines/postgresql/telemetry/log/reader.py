"""Reads the server's log at each sample."""

from __future__ import annotations

from pathlib import Path

from lutra_agent.engines.postgresql.server.connect import TAG, Connection
from lutra_agent.engines.postgresql.telemetry.log import settings
from lutra_agent.engines.postgresql.telemetry.log.durations import Durations, Tally
from lutra_agent.engines.postgresql.telemetry.log.follow import Follower
from lutra_agent.engines.postgresql.telemetry.log.records import Records, parser
from lutra_agent.errors import CollectionFailed
from lutra_agent.files.atomic import opened_regular, real

QUERY = "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)"
FORMATS = ("jsonlog", "csvlog", "stderr")
"""The formats, the most reliable to parse first."""


class LogReader:
    """`named` is the log's file if the server does not write it itself."""

    def __init__(self, named: Path | None = None) -> None:
        self._named = named
        self._follower = Follower()
        self._tally: Tally | None = None
        self._records = Records("")

    def objection(self, connection: Connection, data_dir: Path | None) -> str:
        """The reason why the log gives no p99; empty if it does. Opens the file once."""
        found = _current_file(connection, data_dir, self._named)
        if found is None:
            return "no log on this host is proven to be the server's: name it as database.server_log"
        form, file = found
        if _read(connection, form).least_ms is None:
            return "the server logs no durations: set log_min_duration_sample and log_statement_sample_rate"
        try:
            with opened_regular(real(file)) as opened:
                opened.read(1)
        except OSError as error:
            return f"{file}: {error.strerror}: let the agent's account read it"
        return ""

    def read(self, connection: Connection, data_dir: Path | None) -> Durations | None:
        """All durations so far; None if the server logs none. Raises CollectionFailed for an unreadable log."""
        found = _current_file(connection, data_dir, self._named)
        if found is None:
            return None
        form, file = found
        logged = _read(connection, form)
        if logged.least_ms is None:
            return None
        try:
            content = self._follower.appended(file)
        except OSError as error:
            raise CollectionFailed(f"{file}: {error.strerror}") from error
        if self._tally is None or self._tally.logged != logged:
            self._tally = Tally(logged)
        if self._records.form != form:
            self._records = Records(form)
        others = [r for r in self._records.ended(content.decode(errors="replace")) if TAG not in r]
        self._tally.add(parser(form, logged.prefix, logged.bare)(others))
        return self._tally.durations()


def _read(connection: Connection, form: str) -> settings.Logged:
    """For a log of this format. Raises CollectionFailed."""
    return settings.parse(dict(connection.rows(QUERY, (list(settings.NAMES),))), form)


def _current_file(connection: Connection, data_dir: Path | None, named: Path | None) -> tuple[str, Path] | None:
    """The log's format and file: `named` where the operator says so, else what the server's collector writes now."""
    if named is not None:
        return {".csv": "csvlog", ".json": "jsonlog"}.get(named.suffix, "stderr"), named
    for form in FORMATS:
        try:
            found = connection.row("SELECT pg_current_logfile(%s)", (form,))[0]
        except CollectionFailed:
            continue  # not this account's to ask, or a format that this version has not
        if found is not None and data_dir is not None:
            return form, data_dir / found
    return None
