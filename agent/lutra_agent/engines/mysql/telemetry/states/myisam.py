"""MyISAM's indexes: whether such tables are written, which cannot be recovered from a log after a crash."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

MYISAM = FromStatus("myisam", {"key_write_requests": "Key_write_requests", "key_writes": "Key_writes"})
