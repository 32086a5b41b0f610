"""The state of tables themselves: counters near the end of their column's type, engines without transactions, rows that
no key names.
"""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import Seldom

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

COUNTERS = Seldom(
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
