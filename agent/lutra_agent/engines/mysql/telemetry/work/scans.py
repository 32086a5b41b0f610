"""The statement that has read the most rows without an index, of those of the latest minutes.

Only if performance_schema is on and keeps statements by their digest, which contains no values of clients.
"""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import EVERY_S, Seldom

LONGEST_NAME, LONGEST_FORM = 40, 150
LEAST_ROWS = 100
"""Read each time. Statements that read fewer, as the agent's own do, need no index."""
READER = f"""CONCAT(IF(SCHEMA_NAME IS NULL, '', CONCAT(LEFT(SCHEMA_NAME, {LONGEST_NAME}), ': ')),
LEFT(DIGEST_TEXT, {LONGEST_FORM})) AS statement FROM performance_schema.events_statements_summary_by_digest
WHERE SUM_NO_INDEX_USED > 0 AND LAST_SEEN >= NOW() - INTERVAL {EVERY_S:.0f} SECOND AND DIGEST_TEXT NOT LIKE 'SHOW %'
AND DIGEST_TEXT NOT LIKE '%`mysql` .%' AND SUM_ROWS_EXAMINED >= {LEAST_ROWS} * COUNT_STAR
AND DIGEST_TEXT NOT LIKE '%performance\\_schema%' AND DIGEST_TEXT NOT LIKE '%information\\_schema%'
AND COALESCE(SCHEMA_NAME, '') NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')
ORDER BY SUM_ROWS_EXAMINED DESC LIMIT 1"""

SCANS = Seldom("scans", "statements without an index", READER, READER, frozenset({"statement"}))
