"""MySQL and MariaDB servers as an agent would report them, made from what real ones said of themselves.

`data/mysql_9.7.json` and `mariadb_10.11.json` are the catalogue's part of the variables of fresh servers.
"""

from __future__ import annotations

import json
from dataclasses import replace

from lutra_models.catalog import meet
from lutra_models.server import Host, Server, ServerSetting

from tests.support.reported.postgresql import DATA, GB

FRESH = {"mysql": ("9.7.4-2", "mysql_9.7.json"), "mariadb": ("10.11.19-MariaDB", "mariadb_10.11.json")}


def a_mysqld(
    engine: str,
    memory_gb: float = 8,
    cores: float = 4,
    *,
    rotational: bool | None = False,
    peak_connections: int = 0,
    myrocks: bool = False,
    **settings: str | int | float,
) -> Server:
    """A fresh server with other `settings`, as people write them ("4G") or in the server's unit."""
    version, file = FRESH[engine]
    facts = json.loads((DATA / file).read_text(encoding="utf-8"))
    live = {n: ServerSetting(**{**f, "options": tuple(f["options"])}) for n, f in facts.items()}
    if not myrocks:
        live = {n: s for n, s in live.items() if not n.startswith("rocksdb_")}
    host = Host(int(memory_gb * GB), cores, 100 * GB, rotational)
    server = Server(engine, version, live, host, peak_connections=peak_connections)
    parse = meet(server).parse
    changed = {n: replace(live[n], value=str(parse(n, v))) for n, v in settings.items()}
    return replace(server, settings={**live, **changed})
