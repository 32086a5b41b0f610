"""The catalogue's settings as the live server reports them; no other setting leaves the host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lutra_models.server import ServerSetting, SettingKind

from lutra_agent.engines.common.answers import end_of_range, text, text_or_none
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.errors import CollectionFailed
from lutra_agent.files.atomic import read_regular

SETTINGS_FILE = "postgresql.auto.conf"

QUERY = """SELECT name, setting, unit, vartype, min_val, max_val, enumvals, context, source, sourcefile, pending_restart
FROM pg_settings WHERE name = ANY(%s) ORDER BY name"""

ROLE_SETTINGS = """SELECT coalesce('database ' || d.datname, ''), coalesce('role ' || r.rolname, ''), s.setconfig
FROM pg_db_role_setting s LEFT JOIN pg_database d ON d.oid = s.setdatabase LEFT JOIN pg_roles r ON r.oid = s.setrole"""

FILE_SETTINGS = """SELECT name, setting FROM pg_file_settings
WHERE sourcefile LIKE '%/postgresql.auto.conf' AND name IS NOT NULL ORDER BY seqno"""

SEES_SOURCES = "SELECT pg_has_role('pg_read_all_settings', 'USAGE')"

KINDS: Mapping[str, SettingKind] = {"bool": "bool", "enum": "enum", "integer": "integer", "real": "real"}

LINE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:=\s*|\s)(?:'((?:[^'\\]|''|\\.)*)'|([^\s'#]+))")

OUTRANKING = {"command line": "the command line", "environment variable": "an environment variable"}
"""Sources that stand above the file which ALTER SYSTEM writes. That file is read last, so no include outranks it."""


def read_settings(connection: Connection, names: tuple[str, ...], file: Path | None) -> dict[str, ServerSetting]:
    """Name → setting, for those of `names` that the server has. Where nothing `tells`, none is seen to be persisted."""
    rows = connection.rows(QUERY, (list(names),))
    shadows = _role_shadows(connection)
    written = persisted(connection, file)
    return {name: _setting(row, written, shadows.get(name)) for row in rows if (name := text(row[0])) in names}


def persisted(connection: Connection, file: Path | None) -> dict[str, str] | None:
    """Setting → text in postgresql.auto.conf; None where neither the file nor the server shows it."""
    if file is not None:
        try:
            return parse_settings_file(read_regular(file)[0].decode(errors="replace"))
        except OSError:
            pass  # the agent's account may not read the data directory; the server may tell instead
    try:
        return {text(name): text(value) for name, value in connection.rows(FILE_SETTINGS)}
    except CollectionFailed:
        return None


def tells(connection: Connection, file: Path | None) -> bool:
    """Whether anything shows what the settings file says: else an undo takes out lines that it cannot see."""
    return bool(connection.row(SEES_SOURCES)[0]) or persisted(connection, file) is not None


def parse_settings_file(text: str) -> dict[str, str]:
    """The last value of each setting, as ALTER SYSTEM writes them: `name = 'value'`, quotes doubled."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        if found := LINE.match(line):
            quoted, bare = found[2], found[3]
            values[found[1].lower()] = bare if quoted is None else quoted.replace("''", "'").replace("\\\\", "\\")
    return values


def rewritten(text: str, texts: Mapping[str, str | None]) -> str:
    """The file with these texts, each on a line of its own, and every other line as it was."""
    kept = [line for line in text.splitlines() if not ((found := LINE.match(line)) and found[1].lower() in texts)]
    lines = [f"{name} = '{_escaped(value)}'" for name, value in texts.items() if value is not None]
    return "".join(f"{line}\n" for line in [*kept, *lines])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "''")


def _setting(row: tuple[Any, ...], written: Mapping[str, str] | None, role_shadow: str | None) -> ServerSetting:
    name, value, unit, kind, low, high, options, context, origin, source_file, pending = row
    value, source = text(value), text(origin)
    return ServerSetting(
        value=value,
        unit=text(unit),
        kind=KINDS.get(text(kind), "string"),
        low=end_of_range(low),
        high=end_of_range(high),
        options=tuple(map(text, options)) if isinstance(options, list) else (),
        applies={"internal": "fixed", "postmaster": "restart"}.get(text(context), "reload"),  # type: ignore[arg-type]
        source=source,
        persisted=written.get(text(name)) if written is not None else _from_source(value, text_or_none(source_file)),
        shadowed=OUTRANKING.get(source) or role_shadow,
        pending_restart=bool(pending),
    )


def _from_source(value: str, source_file: str | None) -> str | None:
    # Without the file's text, the value in the server's own unit means the same.
    return value if source_file is not None and source_file.endswith(f"/{SETTINGS_FILE}") else None


def _role_shadows(connection: Connection) -> dict[str, str]:
    """Setting → the ALTER DATABASE or ALTER ROLE that outranks every file, for whoever it concerns."""
    shadows: dict[str, str] = {}
    for database, role, configured in connection.rows(ROLE_SETTINGS):
        whose = " in ".join(filter(None, map(text, (role, database))))
        for entry in configured if isinstance(configured, list) else ():
            shadows.setdefault(text(entry).partition("=")[0], f"a setting of {whose}")
    return shadows
