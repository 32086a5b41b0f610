"""Reads the server's log at each sample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lutra_agent.engines.postgresql.server.connect import TAG, Connection
from lutra_agent.engines.postgresql.telemetry.log import settings
from lutra_agent.engines.postgresql.telemetry.log.durations import Durations, Tally
from lutra_agent.engines.postgresql.telemetry.log.records import Records, parser
from lutra_agent.errors import CollectionFailed
from lutra_agent.files.atomic import opened_regular, real

QUERY = "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)"
FORMATS = ("jsonlog", "csvlog", "stderr")
"""The formats, the most reliable to parse first."""
MOST_BYTES = 1 << 23
"""The limit of one reading of a file; of more, the latest part is read."""


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


@dataclass
class Place:
    """The position at which reading continues: the file and the number of bytes."""

    file: Path
    offset: int


class Follower:
    """Begins at the end of the first file. A file that was replaced or truncated is read from its start."""

    def __init__(self) -> None:
        self._place: Place | None = None
        self._identity: tuple[int, int] | None = None

    def appended(self, file: Path) -> bytes:
        """Raises OSError if the file cannot be read."""
        place = self._place
        if place is None:
            self._place, self._identity = Place(file, file.stat().st_size), _identity(file)
            with opened_regular(real(file)):
                return b""
        found = b""
        if place.file != file:
            found = self._tail(place, missing_ok=True)
        elif _identity(file) != self._identity or file.stat().st_size < place.offset:
            place = None
        if place is None or place.file != file:
            self._place, self._identity = Place(file, 0), _identity(file)
            found += b"\n" if found and not found.endswith(b"\n") else b""
        return found + self._tail(self._place or Place(file, 0))

    def _tail(self, place: Place, missing_ok: bool = False) -> bytes:
        try:
            with opened_regular(real(place.file)) as opened:
                size = opened.seek(0, 2)
                start = max(place.offset, size - MOST_BYTES)
                opened.seek(start)
                content = opened.read(size - start) or b""
        except FileNotFoundError:
            if missing_ok:
                return b""
            raise
        skipped, place.offset = start > place.offset, start + len(content)
        return content.partition(b"\n")[2] if skipped else content


def _identity(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_dev, found.st_ino
