"""What the tests know of each engine: values to change, statements that read it, and an account's rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lutra_lab.servers.base import ScratchServer
from lutra_models import extensions

INSTALLED = "lutra.tests"
"""The entry points by which an installed engine says what this table says of ours: its name, and a Family."""
TUNER = "tuner"
"""The account whose rights are given and taken."""
HOSTS = ("localhost", "127.0.0.1")


@dataclass(frozen=True)
class Family:
    """`at_once`, `with_restart`, `prevents_boot` and `refused` are values as the conformance suite wants them.

    `settings` reads every setting, a name and a value a row; `by_itself` are those that the server changes unasked.
    `work` is a statement that is a little load; `store` are some that store a 7, which `stored` reads again.
    `most_connections` is the setting that limits them. Where the server has accounts, `given` gives TUNER the rights to
    change `tuned`, `revoked` takes those from it, and `dropped` drops it. Where it has a second setting source,
    `host_file` is the key of its file in the database section, `on_host` are new values there, and `refused_by_host`
    one that its steps alone refuse.
    """

    at_once: Mapping[str, Any]
    with_restart: Mapping[str, Any]
    prevents_boot: Mapping[str, Any]
    refused: Mapping[str, Any]
    settings: str
    work: str
    tuned: tuple[str, ...] = ()
    given: Sequence[str] = ()
    revoked: Sequence[str] = ()
    dropped: Sequence[str] = ()
    store: Sequence[str] = ("CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7)")
    stored: str = "SELECT n FROM kept"
    most_connections: str = "max_connections"
    by_itself: frozenset[str] = frozenset()
    host_file: str = ""
    on_host: Mapping[str, Any] = field(default_factory=dict)
    refused_by_host: Mapping[str, Any] = field(default_factory=dict)


def _postgresql() -> Family:
    tuned = ("work_mem", "random_page_cost", "jit")
    parameters = f"ALTER SYSTEM ON PARAMETER {', '.join(tuned)}"
    return Family(
        at_once={"work_mem": 8192, "random_page_cost": 1.5, "jit": "off"},
        with_restart={"shared_buffers": 8192},
        prevents_boot={"shared_buffers": 1 << 29},
        refused={"random_page_cost": -5},
        settings="SELECT name, setting FROM pg_settings",
        work="SELECT count(*) FROM pg_class",
        tuned=tuned,
        given=(
            f"CREATE ROLE {TUNER} LOGIN IN ROLE pg_monitor",
            f"GRANT {parameters} TO {TUNER}",
            f"GRANT EXECUTE ON FUNCTION pg_reload_conf() TO {TUNER}",
        ),
        revoked=(f"REVOKE {parameters} FROM {TUNER}",),
        dropped=(f"DROP OWNED BY {TUNER}", f"DROP ROLE {TUNER}"),
    )


def _mysqld(
    at_once: Mapping[str, Any],
    with_restart: Mapping[str, Any],
    prevents_boot: Mapping[str, Any],
    sees: str,
    changes: str,
) -> Family:
    who = [f"{TUNER}@'{host}'" for host in HOSTS]
    return Family(
        at_once={**at_once, "innodb_buffer_pool_size": 256 << 20, "innodb_adaptive_hash_index": "on"},
        with_restart={"table_open_cache_instances": 4, **with_restart},
        prevents_boot=prevents_boot,
        refused={"sort_buffer_size": -1},
        settings="SHOW GLOBAL VARIABLES",
        work="SELECT COUNT(*) FROM information_schema.TABLES",
        tuned=tuple(at_once),
        given=(*(f"CREATE USER {w}" for w in who), *(f"GRANT {sees}, {changes} ON *.* TO {w}" for w in who)),
        revoked=[f"REVOKE {changes} ON *.* FROM {w}" for w in who],
        dropped=[f"DROP USER {w}" for w in who],
        by_itself=frozenset({"timestamp", "gtid_executed", "gtid_purged", "rand_seed1", "rand_seed2"}),
    )


def _redis(at_once: Mapping[str, Any], compact: str = "listpack", too_long: int = 1 << 63) -> Family:
    """`compact`: what a version calls the encoding of its small values; `too_long`: what it refuses as their length."""
    tuned = ("hz", "repl-backlog-size", "activerehashing")
    seen = ("ping", "info", "config|get", "slowlog|get", "client|list", "cluster|info", "latency|histogram")
    commands = (*seen, "config|set")
    return Family(
        at_once={"hz": 20, "repl-backlog-size": 32 << 20, "activerehashing": "no", **at_once},
        with_restart={f"hash-max-{compact}-entries": 256},
        prevents_boot={f"hash-max-{compact}-value": too_long},
        refused={"active-expire-effort": 11},
        settings="CONFIG GET *",
        work="GET k1",
        tuned=tuned,
        given=(f"ACL SETUSER {TUNER} on nopass -@all {' '.join(f'+{c}' for c in commands)}", "CONFIG REWRITE"),
        revoked=(f"ACL SETUSER {TUNER} -config|set",),
        dropped=(f"ACL DELUSER {TUNER}", "CONFIG REWRITE"),
        store=("SET kept 7",),
        stored="GET kept",
        most_connections="maxclients",
    )


FAMILIES: Mapping[str, Family] = {
    "redis": _redis({"lazyfree-lazy-expire": "yes"}),
    "redis 6.2": _redis({"lazyfree-lazy-expire": "yes"}, compact="ziplist", too_long=-1),
    "valkey 7.2": _redis({"lazyfree-lazy-expire": "yes"}),
    "valkey": _redis({"lazyfree-lazy-expire": "no"}),
    "pika": Family(
        at_once={"write-buffer-size": 64 << 20, "arena-block-size": 1 << 20, "slowlog-max-len": 256},
        with_restart={"max-write-buffer-size": 1 << 30},
        prevents_boot={},
        refused={"max-cache-files": -5},
        settings="CONFIG GET *",
        work="GET k1",
        most_connections="maxclients",
        by_itself=frozenset({"run-id"}),
    ),
    "postgresql": _postgresql(),
    "mysql": _mysqld(
        # The capacity is above the maximum that stands before: whichever comes first, both have to hold in the end.
        at_once={"innodb_io_capacity": 30000, "innodb_io_capacity_max": 40000, "sort_buffer_size": 524288},
        with_restart={"innodb_sort_buffer_size": 2 << 20},
        prevents_boot={"thread_stack": 1 << 40},
        sees="SELECT, PROCESS, REPLICATION CLIENT",
        changes="SYSTEM_VARIABLES_ADMIN, PERSIST_RO_VARIABLES_ADMIN",
    ),
    "mariadb": _mysqld(
        at_once={"innodb_io_capacity": 3000, "innodb_io_capacity_max": 6000, "sort_buffer_size": 524288},
        with_restart={"innodb_log_buffer_size": 32 << 20},
        prevents_boot={"innodb_buffer_pool_size_max": 1 << 60},
        sees="SELECT, PROCESS, SLAVE MONITOR",
        changes="SUPER, BINLOG ADMIN, CONNECTION ADMIN",
    ),
}


def known(engine: str) -> Family:
    """Raises KeyError."""
    return _families()[engine]


def known_of(server: ScratchServer) -> Family:
    """That of the server's version, or else of its engine. Raises KeyError."""
    families = _families()
    versions = [n for n in families if n.startswith(f"{server.engine} ") and server.version.startswith(n.split()[1])]
    return families[(*versions, server.engine)[0]]


def _families() -> Mapping[str, Family]:
    return {**FAMILIES, **dict(extensions.installed(INSTALLED))}
