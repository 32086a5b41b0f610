"""The catalogue's settings as the live server reports them; no other setting leaves the host."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lutra_models.catalog.units import parse_bool, parse_number
from lutra_models.errors import InvalidConfiguration
from lutra_models.server import ServerSetting, SettingKind

from lutra_agent.engines.common.answers import end_of_range, text, text_or_none
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.errors import CollectionFailed
from lutra_agent.files.atomic import read_regular

SETTINGS_FILE = "postgresql.auto.conf"

QUERY = """SELECT name, setting, unit, vartype, min_val, max_val, enumvals, context, source, sourcefile,
pending_restart, boot_val, reset_val FROM pg_settings WHERE name = ANY(%s) ORDER BY name"""

OWN_VALUES = """SELECT concat_ws(' in ', 'role ' || r.rolname, 'database ' || d.datname), s.setconfig
FROM pg_db_role_setting s LEFT JOIN pg_database d ON d.oid = s.setdatabase LEFT JOIN pg_roles r ON r.oid = s.setrole
UNION ALL SELECT 'tablespace ' || spcname, spcoptions FROM pg_tablespace ORDER BY 1"""
"""Roles, databases and tablespaces with values of their own; no name means all roles."""
EVERYBODY = "ALTER ROLE ALL"
MOST_NAMED = 3

CONFIGURED = "SELECT name, setting FROM pg_file_settings WHERE applied ORDER BY seqno"

FILE_SETTINGS = """SELECT name, setting FROM pg_file_settings
WHERE sourcefile LIKE '%/postgresql.auto.conf' AND name IS NOT NULL ORDER BY seqno"""

SEES_SOURCES = "SELECT pg_has_role('pg_read_all_settings', 'USAGE')"

KINDS: Mapping[str, SettingKind] = {"bool": "bool", "enum": "enum", "integer": "integer", "real": "real"}

LINE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:=\s*|\s)(?:'((?:[^'\\]|''|\\.)*)'|([^\s'#]+))")

OUTRANKING = {"command line": "the command line", "environment variable": "an environment variable"}
"""Sources with precedence over the file which ALTER SYSTEM writes. That file is read last, so no include outranks it.
"""
SOURCE = 8
"""The column of `QUERY` with the source of a value."""
SESSION = "session"
OWN = ("database", "user", "database user", "client", SESSION)
"""Sources of a value that applies only to sessions such as the agent's."""
HIDDEN = "the agent's own role or database, whose value hides the server's from it: ALTER ROLE … RESET {name} shows it"


def read_settings(connection: Connection, names: tuple[str, ...], file: Path | None) -> dict[str, ServerSetting]:
    """Name → setting, for those of `names` that the server has. If nothing `tells`, no setting counts as persisted."""
    rows = connection.rows(QUERY, (list(names),))
    unreached = _unreached(connection)
    written = persisted(connection, file)
    configured = _by_name(connection, CONFIGURED) if any(row[SOURCE] in OWN for row in rows) else {}
    known = {name: _of_server(row, configured) for row in rows if (name := text(row[0])) in names}
    return {name: _setting(row, written, unreached.get(name, [])) for name, row in known.items()}


def persisted(connection: Connection, file: Path | None) -> dict[str, str] | None:
    """Setting → text in postgresql.auto.conf; None if neither the file nor the server shows it."""
    if file is not None:
        try:
            return parse_settings_file(read_regular(file)[0].decode(errors="replace"))
        except OSError:
            pass  # the agent's account may not read the data directory; the server may tell instead
    return _by_name(connection, FILE_SETTINGS)


def tells(connection: Connection, file: Path | None) -> bool:
    """Whether the content of the settings file is visible; otherwise an undo would remove lines that it cannot see."""
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
    """The file with these texts, each on its own line, and every other line unchanged."""
    kept = [line for line in text.splitlines() if not ((found := LINE.match(line)) and found[1].lower() in texts)]
    lines = [f"{name} = '{_escaped(value)}'" for name, value in texts.items() if value is not None]
    return "".join(f"{line}\n" for line in [*kept, *lines])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "''")


def _setting(row: tuple[Any, ...], written: Mapping[str, str] | None, unreached: Sequence[str]) -> ServerSetting:
    name, value, unit, kind, low, high, options, context, origin, source_file, pending, _ = row
    name, value, source = text(name), text(value), text(origin)
    for_all = EVERYBODY if "" in unreached else None
    hidden = HIDDEN.format(name=name) if source in OWN else None
    return ServerSetting(
        value=value,
        unit=text(unit),
        kind=KINDS.get(text(kind), "string"),
        low=end_of_range(low),
        high=end_of_range(high),
        options=tuple(map(text, options)) if isinstance(options, list) else (),
        applies={"internal": "fixed", "postmaster": "restart"}.get(text(context), "reload"),  # type: ignore[arg-type]
        source=source,
        persisted=written.get(name) if written is not None else _from_source(value, text_or_none(source_file)),
        shadowed=OUTRANKING.get(source) or for_all or hidden,
        pending_restart=bool(pending),
        unreached=_listed([who for who in unreached if who]),
    )


def _from_source(value: str, source_file: str | None) -> str | None:
    # Without the file's text, the value in the server's own unit means the same.
    return value if source_file is not None and source_file.endswith(f"/{SETTINGS_FILE}") else None


def _unreached(connection: Connection) -> dict[str, list[str]]:
    """Setting → who has a value of their own by ALTER ROLE, ALTER DATABASE or ALTER TABLESPACE."""
    found: dict[str, list[str]] = {}
    for who, configured in connection.rows(OWN_VALUES):
        for entry in configured if isinstance(configured, list) else ():
            found.setdefault(text(entry).partition("=")[0], []).append(text(who))
    return found


def _listed(who: Sequence[str]) -> str | None:
    more = [f"{len(who) - MOST_NAMED} more"] if len(who) > MOST_NAMED else []
    return ", ".join([*who[:MOST_NAMED], *more]) or None


def _by_name(connection: Connection, query: str) -> dict[str, str] | None:
    """Setting → what a file of the server's says; None if the account may not know."""
    try:
        return {text(name): text(value) for name, value in connection.rows(query)}
    except CollectionFailed:
        return None


def _of_server(row: tuple[Any, ...], configured: Mapping[str, str] | None) -> tuple[Any, ...]:
    """The row with the server's value, where the agent's session has one of its own.

    What the agent itself has set hides nothing: the server tells what a RESET would bring back.
    """
    row, reset = row[:-1], row[-1]
    name, _, unit, kind, *_, boot = row
    if row[SOURCE] not in OWN or (configured is None and row[SOURCE] != SESSION):
        return row
    if configured is None:
        configured = {} if reset == boot else {text(name): text(reset)}
    source = "configuration file" if text(name) in configured else "default"
    try:
        value = _printed(text(name), configured.get(text(name), text(boot)), text(unit), text(kind))
    except InvalidConfiguration:
        return row
    return (name, value, *row[2:SOURCE], source, *row[SOURCE + 1 :])


def _printed(name: str, text: str, unit: str, kind: str) -> str:
    """As the server prints it. Raises InvalidConfiguration."""
    if kind == "bool":
        return parse_bool(name, text)
    if kind in ("integer", "real"):
        return str(parse_number(name, text, unit, kind == "integer"))
    return text.lower() if kind == "enum" else text
