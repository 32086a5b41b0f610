"""The state of a server at a moment, beside its counters: limits, roles, files, rights, versions."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

# Allowed and actual access: pg_hba.conf as the server reads it, and the current clients.
#
# A rule counts as remote where its addresses are not the host's own. Of clients, those with an address of the
# internet count apart from those of private networks.

OWN = "address IN ('127.0.0.1', '::1', 'localhost', 'samehost') OR address LIKE '127.%'"
ANYWHERE = "address = 'all' OR address = '0.0.0.0' AND netmask = '0.0.0.0' OR address = '::' AND netmask = '::'"
RULES = f"""SELECT count(*) FILTER (WHERE method IN ('trust', 'ident') AND remote) AS open_remote,
count(*) FILTER (WHERE method IN ('trust', 'ident') AND anywhere) AS open_anywhere,
count(*) FILTER (WHERE method = 'trust' AND NOT remote) AS open_here,
count(*) FILTER (WHERE method = 'password' AND remote AND type <> 'hostssl' AND type <> 'hostgssenc') AS clear_text,
count(*) FILTER (WHERE method = 'md5') AS md5, count(*) FILTER (WHERE error IS NOT NULL) AS errors
FROM (SELECT type, auth_method AS method, error, type <> 'local' AND NOT coalesce({OWN}, false) AS remote,
type <> 'local' AND coalesce({ANYWHERE}, false) AS anywhere FROM pg_hba_file_rules) rules"""  # noqa: S608

HBA = Collector(
    "hba",
    "pg_hba_file_rules",
    {12: RULES},
    gauges=None,
    right="has_function_privilege('pg_hba_file_rules()', 'EXECUTE') "
    "AND has_table_privilege('pg_hba_file_rules', 'SELECT')",
    grant="GRANT SELECT ON pg_hba_file_rules TO {account}; GRANT EXECUTE ON FUNCTION pg_hba_file_rules() TO {account};",
    every_s=60.0,
)

PRIVATE = "'10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', 'fc00::/7', 'fe80::/10'"
SEEN = f"""SELECT count(*) FILTER (WHERE remote) AS remote, count(*) FILTER (WHERE remote AND plain) AS plain,
count(*) FILTER (WHERE remote AND plain AND public) AS plain_public,
count(*) FILTER (WHERE rolsuper) AS superusers FROM (SELECT coalesce(NOT client_addr <<= ANY
(ARRAY['127.0.0.0/8', '::1']::inet[]), false) AS remote, NOT (ssl OR gss_enc) AS plain,
NOT client_addr <<= ANY (ARRAY[{PRIVATE}]::inet[]) AS public, r.rolsuper FROM pg_stat_get_activity(NULL) a
LEFT JOIN pg_roles r ON r.oid = a.usesysid
WHERE a.backend_type = 'client backend' AND a.pid <> pg_backend_pid()) seen"""  # noqa: S608

CLIENTS = Collector(
    "clients",
    "pg_stat_ssl",
    {12: SEEN},
    gauges=None,
)


# Collations whose rules changed with the operating system's libraries since indexes were sorted by them.
#
# Those of databases are known from 15 on. Of the agent's database, the collations count that an index uses.

IN_USE = """count(*) AS outdated, string_agg(format('%I (%s, now %s)', collname, collversion, actual), ', ')
AS outdated_names FROM (SELECT c.collname, c.collversion, pg_collation_actual_version(c.oid) AS actual
FROM pg_collation c WHERE c.oid IN (SELECT unnest(indcollation) FROM pg_index)) used WHERE collversion <> actual"""
DATABASES = """count(*) AS outdated_databases,
string_agg(format('%I (%s, now %s)', datname, datcollversion, actual), ', ' ORDER BY datname) AS database_names
FROM (SELECT d.datname, d.datcollversion, pg_database_collation_actual_version(d.oid) AS actual
FROM pg_database d WHERE d.datallowconn) every_one WHERE datcollversion <> actual"""

COLLATIONS = Collector(
    "collations",
    "pg_collation",
    {12: f"SELECT {IN_USE}", 15: f"SELECT * FROM (SELECT {IN_USE}) u, (SELECT {DATABASES}) d"},  # noqa: S608
    gauges=None,
    texts=frozenset({"outdated_names", "database_names"}),
    every_s=60.0,
)


# Faults in the server's own files, with which it would not start again.
#
# A setting that waits for a restart shows as an error as well, and is none: those of a restart are left out, whose
# name and line are right.

FILES_QUERY = """SELECT count(*) FILTER (WHERE error IS NOT NULL AND NOT coalesce(lower(name) = ANY (at_start), false))
AS errors FROM pg_file_settings, (SELECT array_agg(lower((s).name)) AS at_start
FROM (SELECT pg_show_all_settings() AS s OFFSET 0) settings WHERE (s).context = 'postmaster') fixed"""
"""Settings are read one by one: pg_settings as a table would be kept in a temporary file where work_mem is small."""

FILES = Collector(
    "files",
    "pg_file_settings",
    {12: FILES_QUERY},
    gauges=None,
    right="has_function_privilege('pg_show_all_file_settings()', 'EXECUTE') "
    "AND has_table_privilege('pg_file_settings', 'SELECT')",
    grant="GRANT SELECT ON pg_file_settings TO {account}; "
    "GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO {account};",
    every_s=60.0,
)


# Limits of connections that databases and accounts have of their own, and prepared transactions, of which each holds
# its locks.
#
# Of the databases and of the accounts with a limit, the fullest one counts. Background processes, and databases that
# are being dropped, are left out.

LIMITS_QUERY = """WITH used AS (SELECT datid, usesysid, count(*) AS n FROM pg_stat_activity
WHERE backend_type = 'client backend' GROUP BY datid, usesysid),
databases AS (SELECT quote_ident(d.datname) AS name, d.datconnlimit AS most,
coalesce((SELECT sum(n) FROM used WHERE datid = d.oid), 0) AS n
FROM pg_database d WHERE d.datconnlimit > 0 AND d.datallowconn),
accounts AS (SELECT quote_ident(r.rolname) AS name, r.rolconnlimit AS most,
coalesce((SELECT sum(n) FROM used WHERE usesysid = r.oid), 0) AS n
FROM pg_roles r WHERE r.rolconnlimit > 0 AND r.rolcanlogin AND NOT r.rolsuper),
d AS (SELECT n, most, name FROM databases ORDER BY n / most DESC, most LIMIT 1),
a AS (SELECT n, most, name FROM accounts ORDER BY n / most DESC, most LIMIT 1)
SELECT (SELECT name FROM d) AS database_name, (SELECT name FROM a) AS account_name,
(SELECT gid FROM pg_prepared_xacts ORDER BY prepared LIMIT 1) AS prepared_name,
coalesce((SELECT n FROM d), 0) AS database_used, coalesce((SELECT most FROM d), 0) AS database_limit,
coalesce((SELECT n FROM a), 0) AS account_used, coalesce((SELECT most FROM a), 0) AS account_limit,
(SELECT count(*) FROM pg_database WHERE datname <> 'template0' AND (datconnlimit = 0 OR NOT datallowconn)) AS closed,
(SELECT count(*) FROM pg_database WHERE datconnlimit = -2) AS half_dropped,
(SELECT count(*) FROM pg_prepared_xacts) AS prepared,
(SELECT coalesce(extract(epoch FROM clock_timestamp() - min(prepared)), 0) FROM pg_prepared_xacts) AS prepared_s"""

LIMITS = Collector(
    "limits",
    "pg_database, pg_roles and pg_prepared_xacts",
    {12: LIMITS_QUERY},
    gauges=None,
    texts=frozenset({"database_name", "account_name", "prepared_name"}),
)


# Databases and accounts whose own settings refuse writes or leave out triggers: ALTER DATABASE, ALTER ROLE … SET.

READ_ONLY = "c ~* '^default_transaction_read_only=(on|t|tr|tru|true|y|ye|yes|1)$'"
OVERRIDES_QUERY = f"""SELECT count(*) FILTER (WHERE setrole = 0 AND {READ_ONLY}) AS read_only_databases,
count(*) FILTER (WHERE setrole <> 0 AND {READ_ONLY}) AS read_only_accounts,
count(*) FILTER (WHERE c ~* '^session_replication_role=replica$') AS without_triggers,
min(quote_ident(datname)) FILTER (WHERE setrole = 0 AND {READ_ONLY}) AS read_only_name
FROM pg_db_role_setting LEFT JOIN pg_database d ON d.oid = setdatabase LEFT JOIN unnest(setconfig) c ON true"""  # noqa: S608

OVERRIDES = Collector(
    "overrides",
    "pg_db_role_setting",
    {12: OVERRIDES_QUERY},
    gauges=None,
    texts=frozenset({"read_only_name"}),
)


# Whether the server is in recovery, from where it receives its log, and how far behind it applies it.
#
# `lag_s` is the age of the last commit that was applied, while log that was received waits to be applied. Where all
# comes from an archive, nobody knows how far behind it is.

RECOVERY_QUERY = """SELECT standby::int AS in_recovery,
CASE WHEN standby THEN pg_is_wal_replay_paused()::int ELSE 0 END AS paused,
(SELECT count(*) FROM pg_stat_wal_receiver) AS receiving,
CASE WHEN may THEN (current_setting('primary_conninfo') <> '')::int END AS has_primary,
CASE WHEN may THEN (current_setting('restore_command') <> '')::int END AS has_archive,
CASE WHEN standby THEN greatest(pg_wal_lsn_diff(received, applied), 0) ELSE 0 END AS behind_bytes,
CASE WHEN NOT standby OR received = applied THEN 0 WHEN received IS NOT NULL
THEN extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END AS lag_s
FROM (SELECT pg_is_in_recovery() AS standby, pg_last_wal_receive_lsn() AS received,
pg_last_wal_replay_lsn() AS applied, pg_has_role('pg_read_all_settings', 'USAGE') AS may) log"""

RECOVERY = Collector(
    "recovery",
    "pg_stat_wal_receiver",
    {12: RECOVERY_QUERY},
    gauges=None,
)


# The program's version, the day, settings that wait for a restart, and whether the server recovered from a crash.
#
# After a crash of one of its processes the server ends all others and starts them again, under the main process of
# before: the checkpointer is then much younger than that. `recovered_s` is its age where it was `started_again`.

SOFTWARE_QUERY = """SELECT current_setting('server_version_num')::int AS version_num,
floor(extract(epoch FROM clock_timestamp()) / 86400) AS day,
(SELECT count(*) FILTER (WHERE waits) FROM
(SELECT (pg_show_all_settings()).pending_restart AS waits OFFSET 0) settings) AS pending,
again::int AS started_again,
CASE WHEN again THEN extract(epoch FROM clock_timestamp() - begun) ELSE 0 END AS recovered_s
FROM (SELECT max(backend_start) AS begun, max(backend_start) > pg_postmaster_start_time() + interval '5 s' AS again
FROM pg_stat_activity WHERE backend_type = 'checkpointer') checkpointer"""

SOFTWARE = Collector(
    "software",
    "pg_settings",
    {12: SOFTWARE_QUERY},
    gauges=None,
)


# Logical replication into this server: subscriptions without a worker, those that are off, and errors (15+).

COUNTED = """SELECT count(*) FILTER (WHERE s.subenabled) AS enabled,
count(*) FILTER (WHERE NOT s.subenabled) AS disabled,
count(*) FILTER (WHERE s.subenabled AND NOT EXISTS
(SELECT FROM pg_stat_subscription t WHERE t.subname = s.subname AND t.pid IS NOT NULL)) AS idle"""
ERRORS = """(SELECT coalesce(sum(apply_error_count + sync_error_count), 0) FROM pg_stat_subscription_stats) AS errors,
(SELECT max(stats_reset) FROM pg_stat_subscription_stats) AS epoch"""

SUBSCRIPTIONS = Collector(
    "subscriptions",
    "pg_stat_subscription",
    {
        12: f"{COUNTED} FROM pg_subscription s",
        15: f"{COUNTED}, {ERRORS} FROM pg_subscription s",
    },
    gauges=frozenset({"enabled", "disabled", "idle"}),
)


STATES = (LIMITS, RECOVERY, SUBSCRIPTIONS, CLIENTS, SOFTWARE, OVERRIDES, COLLATIONS, HBA, FILES)
