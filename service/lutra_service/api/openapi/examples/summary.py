"""Examples: a summary of a day."""

from __future__ import annotations

from lutra_service.api.openapi.examples.common import DATABASE, EVENING, LATER, RECOMMENDATION, SESSION, Example
from lutra_service.api.openapi.examples.tuning import comparison

SINCE, BEFORE = "2026-02-28T18:00:00Z", "2026-02-27T18:00:00Z"
span_load: Example = {"start": SINCE, "end": LATER, "hours": 24, "p99_ms": 11.8, "worst_p99_ms": 31.0, "qps": 904.0}
former: Example = {**span_load, "start": BEFORE, "end": SINCE, "p99_ms": 14.4, "worst_p99_ms": 35.2}
database_load: Example = {
    "database": DATABASE,
    "name": "shop",
    "engine": "postgresql",
    "p99_of": "histogram of statement",
    "now": span_load,
    "before": former,
    "compared": comparison,
    "daily": [former, span_load],
}
happening: Example = {
    "at": EVENING,
    "database": "shop",
    "what": "applied",
    "change": "work_mem 4MB → 8MB",
    "by": "anna",
    "why": "",
    "recommendation": RECOMMENDATION,
    "effect": comparison,
}
guard: Example = {
    **happening,
    "what": "guard fired",
    "by": "guard p99",
    "why": "p99: p99_ms is 60 for 30 s, bound 25, 12.5 before",
    "effect": None,
}
summary_finding: Example = {
    "database": "shop",
    "name": "sorts_spill",
    "kind": "fault",
    "strength": 0.81,
    "sentence": "2.1 sorts and hashes a second write temporary files",
    "since": SINCE,
    "gone_at": None,
}
waiting: Example = {
    "database": "shop",
    "recommendation": RECOMMENDATION,
    "since": EVENING,
    "change": "work_mem 4MB → 8MB",
}
summary_session: Example = {
    "database": "shop",
    "session": SESSION,
    "state": "running",
    "message": "waits for a decision",
    "created_at": SINCE,
    "ended_at": None,
}
gains: Example = {"reported": 5, "holds": 3, "decayed": 1, "unknown": 1, "share": 0.75}
silent: Example = {"database": "shop", "hours": 2, "last_report_at": LATER}
summary: Example = {
    "since": SINCE,
    "until": LATER,
    "days": 1,
    "databases": [database_load],
    "databases_in_all": 1,
    "counts": {"applied": 1, "guard fired": 1},
    "gains": gains,
    "changes": [happening],
    "outside": [],
    "guards": [guard],
    "findings": [summary_finding],
    "findings_by_kind": {"outage": 0, "danger": 0, "fault": 1, "elsewhere": 0},
    "gone": [],
    "proposals": [waiting],
    "sessions": [summary_session],
    "silent": [silent],
    "text": "2026-02-28 to 2026-03-01 (UTC), against the day before\n…",
}
