"""Allowed and actual access: pg_hba.conf as the server reads it, and the current clients.

A rule counts as remote where its addresses are not the host's own. Of clients, those with an address of the internet
count apart from those of private networks.
"""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

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
    gauges=frozenset({"open_remote", "open_anywhere", "open_here", "clear_text", "md5", "errors"}),
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
    gauges=frozenset({"remote", "plain", "plain_public", "superusers"}),
)
