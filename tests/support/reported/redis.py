"""A Redis as an agent would report it: `data/redis_8.0.json` is the catalogue's part of a fresh server's CONFIG GET."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lutra_models.catalog import load
from lutra_models.server import Host, Server, ServerSetting

from tests.support.reported.postgresql import DATA, GB

VERSION = "8.0.6"
SNAPSHOTS = {"save": "3600 1 300 100 60 10000"}
"""The server's own default; it was asked with none, so that it wrote nothing."""


def a_redis(
    memory_gb: float = 8,
    cores: float = 4,
    settings: Mapping[str, str] | None = None,
    engine: str = "redis",
    version: str = VERSION,
) -> Server:
    """A fresh server with other `settings`, as the server prints them."""
    values = {**json.loads((DATA / "redis_8.0.json").read_text()), **SNAPSHOTS, **(settings or {})}
    rows = {r.name: r for r in load(engine).rows_for(version)}
    found = {
        n: ServerSetting(v, rows[n].unit, rows[n].kind, applies=rows[n].applies) for n, v in values.items() if n in rows
    }
    return Server(engine, version, found, Host(int(memory_gb * GB), cores, 100 * GB, False))
