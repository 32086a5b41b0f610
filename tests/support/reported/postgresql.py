"""Servers as an agent would report them, made from what real ones said of themselves.

`data/postgresql_15.json`, `_16.json` and `_18.json` are the catalogue's part of `pg_settings` on fresh clusters.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from lutra_models.catalog.units import parse_number
from lutra_models.server import Host, Server, ServerSetting

DATA = Path(__file__).parents[1] / "data"
GB = 2**30


def a_server(
    version: str = "18",
    memory_gb: float = 8,
    cores: float = 4,
    *,
    disk_gb: float | None = 100,
    rotational: bool | None = False,
    peak_connections: int = 0,
    **settings: str | int | float,
) -> Server:
    """A fresh PostgreSQL 15, 16 or 18; `settings` as people write them ("4GB") or in the server's unit."""
    live = dict(fresh_settings(version))
    for name, value in settings.items():
        live[name] = replace(live[name], value=_text(name, value, live[name]), source="configuration file")
    disk = None if disk_gb is None else int(disk_gb * GB)
    host = Host(int(memory_gb * GB), cores, disk, rotational)
    return Server("postgresql", version, live, host, peak_connections=peak_connections)


@cache
def fresh_settings(version: str) -> dict[str, ServerSetting]:
    """The catalogue's settings of a fresh cluster of this major version."""
    facts = json.loads((DATA / f"postgresql_{version.split('.')[0]}.json").read_text(encoding="utf-8"))
    return {name: ServerSetting(**{**f, "options": tuple(f["options"])}) for name, f in facts.items()}


def _text(name: str, value: str | int | float, setting: ServerSetting) -> str:
    if isinstance(value, str) and setting.kind in ("integer", "real"):
        return str(parse_number(name, value, setting.unit, setting.kind == "integer"))
    return str(value)
