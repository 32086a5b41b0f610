"""Signs of an outage, a danger or an access fault: collectors in addition to the server's own counters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lutra_agent.engines.common.answers import certain, number_in, reading, text
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import (
    MARIADB,
    Collector,
    FromQuery,
    FromStatus,
    Seldom,
    Status,
    denied,
)
from lutra_agent.errors import CollectionFailed

GLOBAL_LOCKS = "'Waiting for global read lock', 'Waiting for backup lock', 'Waiting for commit lock'"
TABLE_LOCKS = (
    "'Waiting for table metadata lock', 'Waiting for schema metadata lock', 'Waiting for table flush', "
    "'Waiting for table level lock', 'Waiting for tablespace metadata lock'"
)
ACKNOWLEDGED = "'Waiting for semi-sync ACK%'"
SESSIONS_VIEWS = {
    True: "SELECT USER AS account, COMMAND AS command, STATE AS state, TIME AS s FROM information_schema.PROCESSLIST",
    False: "SELECT PROCESSLIST_USER AS account, PROCESSLIST_COMMAND AS command, PROCESSLIST_STATE AS state, "
    "PROCESSLIST_TIME AS s FROM performance_schema.threads WHERE PROCESSLIST_ID IS NOT NULL",
}
SESSIONS = {
    mariadb: f"""SELECT SUM(work) - 1 AS working, SUM(dump) AS followers, SUM(glob) AS global_lock,
MAX(glob_s) AS global_lock_s, SUM(tab) AS table_lock, MAX(tab_s) AS table_lock_s, SUM(ack) AS replica_ack,
MAX(ack_s) AS replica_ack_s, MAX(IF(account IN ('system user', 'event_scheduler'), 0, n)) AS most_of_account FROM (
SELECT account, COUNT(*) AS n, SUM(command IN ('Query', 'Execute')) AS work, SUM(command LIKE 'Binlog Dump%%') AS dump,
SUM(COALESCE(state, '') IN ({GLOBAL_LOCKS})) AS glob, MAX(IF(state IN ({GLOBAL_LOCKS}), s, 0)) AS glob_s,
SUM(COALESCE(state, '') IN ({TABLE_LOCKS})) AS tab, MAX(IF(state IN ({TABLE_LOCKS}), s, 0)) AS tab_s,
SUM(COALESCE(state, '') LIKE {ACKNOWLEDGED}) AS ack, MAX(IF(state LIKE {ACKNOWLEDGED}, s, 0)) AS ack_s
FROM ({view}) p GROUP BY account) a""".replace("%%", "%")  # noqa: S608
    for mariadb, view in SESSIONS_VIEWS.items()
}
"""The agent's own session is at work as well, and is subtracted. Without instrumentation there is no row."""
SESSIONS_GAUGES = frozenset(
    {
        "working",
        "followers",
        "global_lock",
        "global_lock_s",
        "table_lock",
        "table_lock_s",
        "replica_ack",
        "replica_ack_s",
        "most_of_account",
    }
)


@dataclass(frozen=True)
class WaitingSessions:
    name: str = "sessions"
    view: str = "list of sessions"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        names, rows = connection.named_rows(SESSIONS[MARIADB in connection.server_version.lower()])
        found = reading(dict(zip(names, rows[0], strict=True)), SESSIONS_GAUGES) if rows else Reading()
        return found if found.gauges else None


WAITING_SESSIONS = WaitingSessions()
"""Waits for a server lock, for a table lock or for a replica, as each session reports them.

A lock that is never released blocks every session behind it, and the server does not count them until they have
finished.
"""


STRICT = ("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _words(value: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", value) if word]


def _not_strict(value: str) -> bool:
    return not any(mode in _words(value.upper()) for mode in STRICT)


def _skips(value: str) -> bool:
    return value.upper() not in ("", "OFF", "0")


def _beyond(value: str) -> bool:
    return any(word.lower() not in LOOPBACK for word in _words(value) or ["*"])


def _old(value: str) -> bool:
    return any(word.upper() in ("TLSV1", "TLSV1.0", "TLSV1.1") for word in _words(value))


SWITCHES: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "not_strict": ("sql_mode", _not_strict),
    "files_anywhere": ("secure_file_priv", lambda value: not value),
    "listens_beyond": ("bind_address", _beyond),
    "skips_errors": ("slave_skip_errors", _skips),
    "replica_skips_errors": ("replica_skip_errors", _skips),
    "old_tls": ("tls_version", _old),
    "aurora": ("aurora_version", lambda _: True),
}
"""Settings that are words or lists, and states that a statement switches: each as 1 or 0."""
NAMES = ", ".join(f"'{theirs}'" for theirs, _ in SWITCHES.values())
SWITCHES_VIEWS = {True: "information_schema.GLOBAL_VARIABLES", False: "performance_schema.global_variables"}
QUERIES = {
    mariadb: f"SELECT VARIABLE_NAME, VARIABLE_VALUE FROM {view} WHERE VARIABLE_NAME IN ({NAMES})"  # noqa: S608
    for mariadb, view in SWITCHES_VIEWS.items()
}


@dataclass(frozen=True)
class SwitchedSettings:
    name: str = "switches"
    view: str = "settings that are words"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        rows = connection.rows(QUERIES[MARIADB in connection.server_version.lower()])
        found = {text(name).lower(): text(value) for name, value in rows if value is not None}
        gauges = {ours: float(test(found[theirs])) for ours, (theirs, test) in SWITCHES.items() if theirs in found}
        if "Innodb_redo_log_enabled" in status:
            gauges["redo_off"] = float(status["Innodb_redo_log_enabled"] == "OFF")
        return Reading(gauges=gauges) if gauges else None


SWITCHED_SETTINGS = SwitchedSettings()


WORDS = ("Rpl_semi_sync_source_", "Rpl_semi_sync_master_")
"""The newer and the older plug-in have different names for their counters."""
SEMI_SYNC_GAUGES = {"clients": "clients", "waiting": "wait_sessions"}
SEMI_SYNC_COUNTERS = {"not_acknowledged": "no_tx", "acknowledged": "yes_tx"}


@dataclass(frozen=True)
class SemiSync:
    name: str = "semi_sync"
    view: str = "status of semi-synchronous replication"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        word = next((w for w in WORDS if f"{w}status" in status), None)
        if word is None:
            return None
        gauges, counters = (
            {ours: n for ours, theirs in names.items() if (n := number_in(status.get(f"{word}{theirs}"))) is not None}
            for names in (SEMI_SYNC_GAUGES, SEMI_SYNC_COUNTERS)
        )
        return Reading(counters, {**gauges, "active": float(status[f"{word}status"] == "ON")})


SEMI_SYNC = SemiSync()
"""Semi-synchronous replication, as its source sees it: the replicas that acknowledge commits, and the commits that
wait.
"""


CLUSTER_COUNTERS = {"paused_ns": "wsrep_flow_control_paused_ns", "conflicts": "wsrep_local_cert_failures"}


@dataclass(frozen=True)
class Cluster:
    name: str = "cluster"
    view: str = "status of the cluster"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        if not status.get("wsrep_provider_name"):
            return None  # no cluster, whatever wsrep_on says
        counters = {
            ours: n for ours, theirs in CLUSTER_COUNTERS.items() if (n := number_in(status.get(theirs))) is not None
        }
        gauges = {
            "ready": float(status["wsrep_ready"] == "ON"),
            "primary": float(status.get("wsrep_cluster_status", "").lower() == "primary"),
        }
        size = number_in(status.get("wsrep_cluster_size"))
        return Reading(counters, gauges if size is None else {**gauges, "size": size})


CLUSTER = Cluster()
"""A Galera cluster: whether this node is part of it and serves, and how long it paused for slower nodes."""


HOSTS = FromQuery(
    "hosts",
    "performance_schema.host_cache",
    """SELECT IF(@@GLOBAL.performance_schema, COALESCE(SUM(SUM_CONNECT_ERRORS >= @@GLOBAL.max_connect_errors), 0), NULL)
AS blocked FROM performance_schema.host_cache""",
    frozenset({"blocked"}),
    absent="the agent's account may not read it: blocked hosts are not judged",
)
"""Hosts that the server turns away, because too many of their connections were broken off before they logged in.

MariaDB shows none of them while performance_schema is off.
"""


KEYED = "'', 'mysql_native_password', 'mysql_old_password', 'caching_sha2_password', 'sha256_password', 'ed25519'"
ACCOUNTS_HERE = "'localhost', '127.0.0.1', '::1', ''"
ACCOUNTS_SOURCES = {
    True: """SELECT User AS user, Host AS host, COALESCE(JSON_VALUE(Priv, '$.plugin'), '') AS plugin,
COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '') = '' AND JSON_QUERY(Priv, '$.auth_or') IS NULL AS bare
FROM mysql.global_priv WHERE COALESCE(JSON_VALUE(Priv, '$.is_role'), 0) = 0
AND COALESCE(JSON_VALUE(Priv, '$.account_locked'), 0) = 0""",
    False: """SELECT User AS user, Host AS host, plugin, authentication_string = '' AS bare
FROM mysql.user WHERE account_locked = 'N'""",
}
ACCOUNTS_OF = {
    mariadb: f"""SELECT COUNT(*) AS counted,
COALESCE(SUM(bare AND plugin IN ({KEYED}) AND user <> '' AND away), 0)
AS open_from_afar, COALESCE(SUM(bare AND plugin IN ({KEYED}) AND user <> '' AND NOT away), 0) AS open_here,
COALESCE(SUM(user = ''), 0) AS anonymous, COALESCE(SUM(user = 'root' AND host = '%'), 0) AS root_anywhere,
COALESCE(SUM(plugin = 'mysql_native_password'), 0) AS old_plugin
FROM (SELECT a.*, host NOT IN ({ACCOUNTS_HERE}, LOWER(@@hostname)) AS away FROM ({source}) a) b"""  # noqa: S608
    for mariadb, source in ACCOUNTS_SOURCES.items()
}
ACCOUNTS_GAUGES = frozenset({"counted", "open_from_afar", "open_here", "anonymous", "root_anywhere", "old_plugin"})


@dataclass(frozen=True)
class Accounts:
    name: str = "accounts"
    view: str = "table of accounts"
    absent: str = "the agent's account may not read it: accounts are not judged"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        try:
            names, rows = connection.named_rows(ACCOUNTS_OF[MARIADB in connection.server_version.lower()])
        except CollectionFailed as error:
            if denied(error):
                return None
            raise
        return reading(dict(zip(names, rows[0], strict=True)), ACCOUNTS_GAUGES) if rows else None


ACCOUNTS = Accounts()
"""Accounts that anyone can use. Only if the agent's account may read the table of accounts, which is rare."""


PREPARED = FromQuery(
    "prepared",
    "information_schema.INNODB_TRX",
    """SELECT COUNT(*) AS transactions, COALESCE(MAX(TIMESTAMPDIFF(SECOND, TRX_STARTED, NOW())), 0) AS oldest_s,
COALESCE(SUM(TRX_ROWS_LOCKED), 0) AS rows_locked FROM information_schema.INNODB_TRX
WHERE TRX_MYSQL_THREAD_ID = 0 AND TRX_STATE <> 'ROLLING BACK'""",
    frozenset({"transactions", "oldest_s", "rows_locked"}),
)
"""Prepared transactions that no longer have a session: only XA COMMIT or XA ROLLBACK ends them."""


@dataclass(frozen=True)
class OfMysql(FromQuery):
    def read(self, connection: Connection, status: Status) -> Reading | None:
        return None if MARIADB in connection.server_version.lower() else super().read(connection, status)


BINLOG_FILES = OfMysql(
    "binlog_files",
    "performance_schema.file_summary_by_event_name",
    """SELECT SUM_NUMBER_OF_BYTES_WRITE AS written_bytes FROM performance_schema.file_summary_by_event_name
WHERE EVENT_NAME = 'wait/io/file/sql/binlog'""",
)
"""The volume that MySQL writes to its binary log. MariaDB counts it among its status variables."""
GROUP = OfMysql(
    "group",
    "performance_schema.replication_group_members",
    """SELECT COUNT(*) AS members, COALESCE(SUM(MEMBER_STATE = 'ONLINE'), 0) AS online
FROM performance_schema.replication_group_members WHERE CHANNEL_NAME <> '' AND MEMBER_STATE <> 'OFFLINE'""",
    frozenset({"members", "online"}),
)


MYISAM = FromStatus("myisam", {"key_write_requests": "Key_write_requests", "key_writes": "Key_writes"})
"""MyISAM's indexes: whether such tables are written, which cannot be recovered from a log after a crash."""


INT = 6
"""InnoDB's type of an integer column; `UNSIGNED` is a bit of its "precise type"."""
UNSIGNED = 512
CLUSTERED = 3
FIRST = "SUBSTRING_INDEX(GROUP_CONCAT({} SEPARATOR ', '), ', ', 3)"
"""The names of tables. The server may truncate them at its own limit."""
SMALLEST = 80
"""A counter with fewer numbers is not near the end of a type."""
FITS = f"POW(2, 8 * c.LEN - IF(c.PRTYPE & {UNSIGNED}, 0, 1))"
# The dictionary does not say which column counts: a primary key of one column, else the roomiest that leads an index.
COUNTED = f"""COALESCE(MAX(t.used), 0) AS used_share, COALESCE(SUM(t.used >= 0.75), 0) AS near_end,
{FIRST.format("IF(t.used >= 0.75, t.name, NULL) ORDER BY t.used DESC")} AS near_end_names FROM
(SELECT REPLACE(MIN(s.NAME), '/', '.') AS name,
(s.AUTOINC - 1) / COALESCE(MAX(IF(i.TYPE = {CLUSTERED} AND i.N_FIELDS = 1, {FITS}, NULL)), MAX({FITS})) AS used
FROM information_schema.{{0}}TABLESTATS s JOIN information_schema.{{0}}INDEXES i ON i.TABLE_ID = s.TABLE_ID
JOIN information_schema.{{0}}FIELDS f ON f.INDEX_ID = i.INDEX_ID AND f.POS = 0
JOIN information_schema.{{0}}COLUMNS c ON c.TABLE_ID = s.TABLE_ID AND c.MTYPE = {INT}
AND CONVERT(c.NAME USING utf8mb4) = CONVERT(f.NAME USING utf8mb4)
WHERE s.AUTOINC > {SMALLEST} GROUP BY s.TABLE_ID, s.AUTOINC) t"""  # noqa: S608
WITHOUT_KEY = """COUNT(*) AS without_key FROM information_schema.{0}INDEXES WHERE NAME = 'GEN_CLUST_INDEX'"""
BARE = "ENGINE IN ('MyISAM', 'Aria') OR ENGINE LIKE 'MRG%MyISAM'"
SEEN = f"""SUM(ENGINE = 'MyISAM' OR ENGINE LIKE 'MRG%MyISAM') AS myisam, SUM(ENGINE = 'Aria') AS aria,
{FIRST.format(f"IF({BARE}, CONCAT(TABLE_SCHEMA, '.', TABLE_NAME), NULL)")} AS names
FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE IS NOT NULL
AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')"""

AUTO_INCREMENT = Seldom(
    "auto_increment",
    "the next numbers of tables",
    COUNTED.format("INNODB_SYS_"),
    COUNTED.format("INNODB_"),
    frozenset({"near_end_names"}),
)
"""The tables that have been opened since the server started. The right to see sessions suffices."""
ENGINES = Seldom("table_engines", "the engines of tables", SEEN, SEEN, frozenset({"names"}))
"""The tables that the account may see: if it sees none, both are NULL, and nothing is known."""
KEYS = Seldom(
    "table_keys",
    "tables without a primary key",
    WITHOUT_KEY.format("INNODB_SYS_"),
    WITHOUT_KEY.format("INNODB_"),
)
"""The name of the index that InnoDB creates for a table without a key."""


CERTIFICATE_ENDS = "Ssl_server_not_after"
CERTIFICATE_FORMAT = "%b %d %H:%M:%S %Y GMT"
CERTIFICATE_NOW = "SELECT UNIX_TIMESTAMP()"


@dataclass(frozen=True)
class Certificate:
    name: str = "certificate"
    view: str = "the server's certificate"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        told = status.get(CERTIFICATE_ENDS, "").strip()
        if not told:
            return None  # it has none
        ends = datetime.strptime(told, CERTIFICATE_FORMAT).replace(tzinfo=UTC)
        return Reading(gauges={"left_s": ends.timestamp() - certain(connection.row(CERTIFICATE_NOW)[0])})


CERTIFICATE = Certificate()
"""The remaining validity of the server's certificate."""


STATES: tuple[Collector, ...] = (
    WAITING_SESSIONS,
    SWITCHED_SETTINGS,
    SEMI_SYNC,
    CLUSTER,
    GROUP,
    HOSTS,
    ACCOUNTS,
    PREPARED,
    BINLOG_FILES,
    MYISAM,
    AUTO_INCREMENT,
    ENGINES,
    KEYS,
    CERTIFICATE,
)
