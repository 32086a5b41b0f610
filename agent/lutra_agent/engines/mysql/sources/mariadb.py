"""MariaDB 10.6 and later: SET GLOBAL, and an include file of the agent's for values that outlast a restart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lutra_models.catalog.rows import KnobRow
from lutra_models.catalog.statements.mysql import same
from lutra_models.server import ServerSetting

from lutra_agent.engines.common.answers import end_of_range, text, text_or_none
from lutra_agent.engines.common.place import Place, sees
from lutra_agent.engines.common.source import Permissions
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.grants import ALL
from lutra_agent.engines.mysql.server.session import Details
from lutra_agent.engines.mysql.sources import include
from lutra_agent.errors import CollectionFailed
from lutra_agent.files.saved_file import save_file

SETTINGS = """SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE, GLOBAL_VALUE_ORIGIN, GLOBAL_VALUE_PATH, NUMERIC_MIN_VALUE,
NUMERIC_MAX_VALUE, ENUM_VALUE_LIST, READ_ONLY FROM information_schema.SYSTEM_VARIABLES
WHERE VARIABLE_NAME IN %s AND GLOBAL_VALUE IS NOT NULL"""
FORGETS = "MariaDB does not keep a changed setting across a restart by itself"
READ_ONLY = "SELECT READ_ONLY FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = %s"
BINLOG = ("binlog_", "sync_binlog", "max_binlog_", "expire_logs_days")
CONNECTION = (
    "max_connections",
    "max_connect_errors",
    "connect_timeout",
    "extra_max_connections",
    "slow_launch_time",
    "thread_pool_",
)


class IncludeFile:
    """`include_file` is the agent's own, in a folder that the server reads last; None if none is configured."""

    def __init__(self, include_file: Path | None) -> None:
        self._file = include_file

    def settings(self, connection: Connection, rows: Sequence[KnobRow], details: Details) -> dict[str, ServerSetting]:
        by_name = {r.name: r for r in rows}
        try:
            written = include.read(self.file_of(details.place))
        except OSError as error:
            raise CollectionFailed(f"{self._file}: {error.strerror}") from error
        found = connection.rows(SETTINGS, (tuple(n.upper() for n in by_name) or ("",),))
        idle = _idle(connection)
        known = {name: r for r in found if (name := text(r[0])) in by_name}
        return {n: self._setting(r, by_name[n], written.get(n), details.started_s, idle) for n, r in known.items()}

    def restarts(self, connection: Connection, row: KnobRow) -> bool:
        found = connection.rows(READ_ONLY, (row.name.upper(),))
        return row.name in _idle(connection) or (bool(found) and found[0][0] == "YES")

    def file(self, data_dir: Path | None) -> Path | None:
        return self._file

    def file_of(self, place: Place) -> Path | None:
        """A server that runs elsewhere never reads a file of this host."""
        if self._file is None or place.process is None:
            return None
        folder = self._file.parent
        return None if folder.exists() and sees(place.process, folder) is False else self._file

    def rewritten(self, content: bytes, texts: Mapping[str, str | None], now_s: float) -> bytes:
        text = content.decode(errors="surrogateescape") or include.HEADER
        if problem := include.others(text):
            raise ValueError(problem)
        try:
            return include.rewritten(text, texts, now_s).encode(errors="surrogateescape")
        except OSError as error:
            raise ValueError(error.strerror) from error

    def file_says(self, content: bytes) -> Mapping[str, str]:
        return {n: e.value for n, e in include.entries(content.decode(errors="replace")).items()}

    def permissions(self, held: frozenset[str], account: str, names: Mapping[str, bool], place: Place) -> Permissions:
        if self._file is None:
            return Permissions(frozenset(), True, explanation=f"database.include_file is not configured: {FORGETS}")
        if self.file_of(place) is None:
            how = f"{self._file} is not proven to be a file of the server that answers: {FORGETS}"
            return Permissions(frozenset(), True, explanation=how)
        kept = save_file(self._file)
        if kept is None:
            how = f"the agent's operating-system account may not write {self._file} and its folder: it needs both"
            return Permissions(frozenset(), True, explanation=how)
        if problem := include.others((kept.content or b"").decode(errors="replace")):
            return Permissions(frozenset(), True, explanation=f"{self._file} does not belong to the agent: {problem}")
        needs = {name: None if restart else privilege(name) for name, restart in names.items()}
        missing = sorted({p for p in needs.values() if p and p not in held and ALL not in held})
        changeable = frozenset(n for n, p in needs.items() if p not in missing)
        remedies = (f"GRANT {', '.join(missing)} ON *.* TO {account};",) if missing else ()
        return Permissions(changeable, True, remedies)

    def _setting(
        self,
        row: tuple[Any, ...],
        knob: KnobRow,
        written: include.Entry | None,
        started_s: float | None,
        idle: frozenset[str],
    ) -> ServerSetting:
        _, value, origin, path, low, high, options, read_only = row
        value, origin, path = text(value), text(origin), text_or_none(path)
        ours = path is not None and self._file is not None and Path(path) == self._file
        numeric, waits = knob.kind in ("integer", "real"), read_only == "YES" or knob.name in idle
        return ServerSetting(
            value=value,
            unit=knob.unit,
            kind=knob.kind,
            low=end_of_range(low) if numeric else None,
            high=end_of_range(high) if numeric else None,
            options=tuple(text(options).split(",")) if options and knob.kind == "enum" else (),
            applies="restart" if waits else "reload",
            source=origin.lower(),
            persisted=written.value if written else None,
            shadowed=_shadow(origin, path, ours, written, started_s),
            pending_restart=waits and _waits(value, ours, written, started_s),
        )


def _idle(connection: Connection) -> frozenset[str]:
    """Settings of a thread pool that does not run: the server takes a new value for them and makes it 0."""
    handling = connection.row("SELECT @@GLOBAL.thread_handling")[0]
    return frozenset() if handling == "pool-of-threads" else frozenset({"thread_pool_size"})


def privilege(name: str) -> str:
    """The one by which an account may change the setting."""
    if name.startswith(BINLOG):
        return "BINLOG ADMIN"
    return "CONNECTION ADMIN" if name.startswith(CONNECTION) else "SUPER"


def _read(written: include.Entry, started_s: float | None) -> bool:
    """Whether the line was there when the server started."""
    return written.written_s is not None and started_s is not None and written.written_s < started_s


def _waits(value: str, ours: bool, written: include.Entry | None, started_s: float | None) -> bool:
    """Whether the include file says something that the running server has not read yet."""
    if written is None:
        return ours
    return not same(written.value, value) and not (ours and _read(written, started_s))


def _shadow(
    origin: str, path: str | None, ours: bool, written: include.Entry | None, started_s: float | None
) -> str | None:
    """What outranks the include file: the command line, or a file that the server read after it."""
    if origin.upper().startswith("COMMAND"):
        return "the command line"
    if origin.upper() == "CONFIG" and not ours and written is not None and _read(written, started_s):
        return f"{path}, which the server reads later"
    return None
