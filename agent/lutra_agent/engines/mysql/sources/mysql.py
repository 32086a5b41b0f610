"""MySQL 8.0 and later keep settings by themselves: SET PERSIST and mysqld-auto.cnf."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lutra_models.catalog import load
from lutra_models.catalog.rows import KnobRow
from lutra_models.catalog.statements.mysql import same
from lutra_models.server import ServerSetting

from lutra_agent.engines.common.answers import end_of_range, text, text_or_none
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.common.source import Permissions
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.session import Details
from lutra_agent.files.atomic import read_regular

US_PER_S = 1e6
FILE = "mysqld-auto.cnf"

SETTINGS = """SELECT i.VARIABLE_NAME, g.VARIABLE_VALUE, i.VARIABLE_SOURCE, i.MIN_VALUE, i.MAX_VALUE, p.VARIABLE_VALUE
FROM performance_schema.variables_info i JOIN performance_schema.global_variables g USING (VARIABLE_NAME)
LEFT JOIN performance_schema.persisted_variables p USING (VARIABLE_NAME) WHERE i.VARIABLE_NAME IN %s"""
MAY_SET = "SYSTEM_VARIABLES_ADMIN"
MAY_CHANGE = frozenset({MAY_SET, "SUPER"})
MAY_PERSIST = "PERSIST_RO_VARIABLES_ADMIN"


class Persisted:
    def settings(self, connection: Connection, rows: Sequence[KnobRow], details: Details) -> dict[str, ServerSetting]:
        by_name = {r.name: r for r in rows}
        loads = bool(connection.row("SELECT @@GLOBAL.persisted_globals_load")[0])
        shadow = None if loads else "persisted_globals_load = OFF: persisted settings are not read at the start"
        file = self.file_of(details.place)
        written = {} if file is None else _written_s(file)
        found = connection.rows(SETTINGS, (tuple(by_name) or ("",),))
        known = {name: r for r in found if (name := text(r[0])) in by_name}
        return {n: _setting(r, by_name[n], shadow, written.get(n), details.started_s) for n, r in known.items()}

    def restarts(self, connection: Connection, row: KnobRow) -> bool:
        return row.applies == "restart"  # no view of the server tells

    def file(self, data_dir: Path | None) -> Path | None:
        return None if data_dir is None else data_dir / FILE

    def file_of(self, place: Place) -> Path | None:
        return self.file(place.folder)

    def rewritten(self, content: bytes, texts: Mapping[str, str | None], now_s: float) -> bytes:
        return rewritten(content, texts, now_s)

    def file_says(self, content: bytes) -> Mapping[str, str]:
        return {name: str(entry.get("Value")) for name, entry in persisted_entries(content).items()}

    def permissions(self, held: frozenset[str], account: str, names: Mapping[str, bool], place: Place) -> Permissions:
        may, may_restart = bool(held & MAY_CHANGE), MAY_PERSIST in held
        changeable = frozenset(n for n, restart in names.items() if may and (may_restart or not restart))
        missing = [] if may else [MAY_SET]
        missing += [MAY_PERSIST] if not may_restart and any(names.values()) else []
        remedies = (f"GRANT {', '.join(missing)} ON *.* TO {account};",) if missing else ()
        return Permissions(changeable, True, remedies)


def _setting(
    row: tuple[Any, ...], knob: KnobRow, shadow: str | None, written_s: float | None, started_s: float | None
) -> ServerSetting:
    _, value, source, low, high, kept = row
    value, source, kept = text(value), text(source), text_or_none(kept)
    waits = knob.applies == "restart" and _waits(value, source, kept, written_s, started_s)
    return ServerSetting(
        value=value,
        unit=knob.unit,
        kind=knob.kind,
        low=end_of_range(low) if knob.kind in ("integer", "real") else None,
        high=end_of_range(high) if knob.kind in ("integer", "real") else None,
        applies=knob.applies,
        source=source.lower(),
        persisted=kept,
        shadowed=shadow,
        pending_restart=waits,
    )


def _waits(value: str, source: str, kept: str | None, written_s: float | None, started_s: float | None) -> bool:
    """Whether the file says something that the running server has not read yet."""
    if kept is None:
        return source == "PERSISTED"
    if same(kept, value):
        return False
    # What was written before the start was read there, and the server made of it what it is.
    return written_s is None or started_s is None or written_s >= started_s


def _written_s(file: Path) -> dict[str, float]:
    """Setting → epoch second at which it was persisted; empty if this account may not read the file."""
    try:
        found = persisted_entries(read_regular(file)[0])
    except OSError:
        return {}
    return {n: e["Metadata"]["Timestamp"] / US_PER_S for n, e in found.items() if "Metadata" in e}


def persisted_entries(content: bytes) -> dict[str, Any]:
    """The settings that SET PERSIST has written, as JSON in mysqld-auto.cnf: the variables of every section."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    found: dict[str, Any] = {}
    for section in _sections(document):
        found.update({n: e for n, e in section.items() if _is_entry(e)})
    return found


def rewritten(content: bytes, texts: Mapping[str, str | None], now_s: float) -> bytes:
    """The file with these texts, and everything else unchanged. Raises ValueError if it is not such a file."""
    document = json.loads(content or b'{"Version": 2}')
    if not isinstance(document, dict):
        raise ValueError("mysqld-auto.cnf does not contain a JSON object")
    held = persisted_entries(json.dumps(document).encode())
    for name, wanted in texts.items():
        if name in held and wanted == str(held[name]["Value"]):
            continue
        holder = next((s for s in _sections(document) if _is_entry(s.get(name))), None)
        if holder is not None:
            del holder[name]
        if wanted is not None:
            section = holder if holder is not None else document.setdefault(_section(name), {})
            section[name] = {"Value": wanted, "Metadata": _metadata(now_s)}
    return json.dumps(document).encode()


def _section(name: str) -> str:
    restarts = any(r.name == name and r.applies == "restart" for r in load("mysql").rows)
    return "mysql_static_variables" if restarts else "mysql_dynamic_variables"


def _metadata(now_s: float) -> dict[str, Any]:
    return {"Host": "localhost", "User": "lutra-agent", "Timestamp": int(now_s * US_PER_S)}


def _sections(document: Any) -> Iterator[dict[str, Any]]:
    for section in document.values() if isinstance(document, dict) else ():
        if isinstance(section, dict):
            yield section
            yield from (s for s in section.values() if isinstance(s, dict) and "Value" not in s)


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and "Value" in entry
