"""mysqld-auto.cnf: what SET PERSIST has written, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lutra_models.catalog import load

US_PER_S = 1e6


def entries(content: bytes) -> dict[str, Any]:
    """The variables of every section of the file."""
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
    held = entries(json.dumps(document).encode())
    for name, text in texts.items():
        if name in held and text == str(held[name]["Value"]):
            continue
        holder = next((s for s in _sections(document) if _is_entry(s.get(name))), None)
        if holder is not None:
            del holder[name]
        if text is not None:
            section = holder if holder is not None else document.setdefault(_section(name), {})
            section[name] = {"Value": text, "Metadata": _metadata(now_s)}
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
