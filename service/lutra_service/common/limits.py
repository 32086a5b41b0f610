"""The limits of stored data, and their sum: the most room that one database, and so its agent's token, takes."""

from __future__ import annotations

import math
from datetime import timedelta

DAILY_BYTES = 512 << 20
"""The bytes that a database may add in a day. An agent that reports every 10 seconds adds an eighth of it."""
REPORT_BYTES = 128 << 10
"""The size limit of a report's documents without its settings. An agent's take some 7 kB."""
SETTINGS_BYTES = 256 << 10
"""The size limit of one server's settings. Those of the largest catalogue take some 30 kB."""
METRICS_TOGETHER = 500
"""The number of metrics that stay in merged windows: those that most of the windows have."""

OLD_REPORTS = 2000
"""The number of reports older than the retention that each database keeps."""
EVENTS = 2000
LOAD_HOURS = timedelta(days=100)
"""The time for which the hourly load of a database is kept."""
LOAD_HOUR_BYTES = 4 << 10
"""The rows of one hour: one row for each kind of p99, so usually 200 bytes."""
FINDINGS = 2000
"""The number of findings that are gone that each database keeps."""
RECOMMENDATIONS = 2000
"""The number of ended recommendations, outside open sessions, that each database keeps."""
SESSIONS = 500
"""The number of ended sessions that each database keeps."""

SNAPSHOTS = 20
"""The number of a database's last sessions that are kept, each with its lessons."""

EVENT_BYTES = 32 << 10
FINDING_BYTES = 4 << 10
RECOMMENDATION_BYTES = 5 * REPORT_BYTES
"""Its own documents, those of an outcome and a measurement, and the events that undid it."""
SNAPSHOT_BYTES = 32 << 20
"""A model of a thousand readings."""
WORKLOAD_BYTES = 2 << 20
"""A thousand readings, packed."""
SESSION_BYTES = 64 << 10


def most_bytes(retention_days: float, daily_bytes: int = DAILY_BYTES) -> int:
    """The maximum size of one database's rows after pruning, indices included.

    The quota bounds data within the retention; numbers of rows bound older data.
    """
    within = math.ceil(retention_days + 1) * daily_bytes
    older = OLD_REPORTS * REPORT_BYTES + EVENTS * EVENT_BYTES + RECOMMENDATIONS * RECOMMENDATION_BYTES
    older += FINDINGS * FINDING_BYTES + LOAD_HOURS // timedelta(hours=1) * LOAD_HOUR_BYTES
    return within + older + SNAPSHOTS * (SNAPSHOT_BYTES + WORKLOAD_BYTES) + SESSIONS * SESSION_BYTES + SETTINGS_BYTES
