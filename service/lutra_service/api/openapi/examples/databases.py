"""Examples: a shop's database, its agent's reports, and its protection."""

from __future__ import annotations

from lutra_models import __version__

from lutra_service.api.openapi.examples.common import DATABASE, EVENING, LATER, RECOMMENDATION, SESSION, Example

policy: Example = {
    "pins": {"max_connections": 200},
    "ranges": {"work_mem": ["4MB", "64MB"]},
    "movable": None,
    "restart": True,
    "durability": False,
    "host": False,
    "memory_fraction": 0.8,
    "memory_count": "in_use",
    "past": "label",
}
host: Example = {"memory_bytes": 8589934592, "cores": 4, "disk_bytes": 107374182400, "rotational": False}
guardrail: Example = {"limit": 1.5, "hold_s": 60.0, "enabled": True}
told_guardrail = {**guardrail, "meaning": "p99 is at most `limit` times its baseline", "origin": "service"}
window: Example = {"weekdays": ["sat", "sun"], "start": "02:00", "minutes": 120, "zone": "Europe/Berlin"}
interval: Example = {"start": "2026-03-07T01:00:00Z", "end": "2026-03-07T03:00:00Z"}
agent: Example = {
    "version": __version__,
    "mode": "reload_only",
    "paused": False,
    "driver": None,
    "spool_dropped": 0,
    "spool_refused": 0,
    "problems": [],
    "guardrails": {"p99": guardrail},
    "firing": [],
    "provisional": RECOMMENDATION,
}
database: Example = {
    "id": DATABASE,
    "name": "shop",
    "engine": "postgresql",
    "engine_version": "16.4",
    "role": "primary",
    "policy": policy,
    "label": "shop",
    "host": host,
    "peak_connections": 42,
    "agent": agent,
    "created_at": EVENING,
    "last_report_at": LATER,
    "last_window_end": LATER,
    "retired_at": None,
}
reported: Example = {
    "value": "4096",
    "unit": "kB",
    "kind": "integer",
    "low": 64,
    "high": 2147483647,
    "options": [],
    "applies": "reload",
    "source": "default",
    "persisted": None,
    "shadowed": None,
    "unreached": None,
    "pending_restart": False,
}
setting: Example = {
    **{k: reported[k] for k in ("unit", "applies", "source", "persisted", "shadowed", "unreached", "pending_restart")},
    "setting": "work_mem",
    "value": 4096,
    "text": "4MB",
    "not_active": None,
    "range": "[4096, 65536] kB",
}
cure: Example = {
    "setting": "work_mem",
    "before": 4096,
    "before_text": "4MB",
    "after": 24576,
    "after_text": "24MB",
    "applies": "reload",
    "reason": "so that a sort that writes a file of 8 MB stays in memory",
    "set_by": None,
    "obstacle": None,
    "unreached": None,
}
symptom: Example = {
    "name": "sorts_spill",
    "kind": "fault",
    "group": "memory",
    "strength": 0.41,
    "sentence": "1,800 temporary files with 14.1 GB in 1 h, 8 MB each, with work_mem = 4 MB.",
    "measured": 4194304.0,
    "numbers": {"per_file": 8388608.0},
    "settings": ["work_mem"],
    "cures": [cure],
    "statements": [],
    "threshold": "The manual; Lutra's threshold is 1 MB/s.",
    "source": "https://www.example.com/manual",
    "follows": [],
    "since": EVENING,
    "gone_at": None,
    "accepted": None,
}
risk: Example = {"because": "rebuilt from its source each night", "until": "2026-09-01T00:00:00Z", "by": "anna"}
not_judged: Example = {"name": "row_locks", "kind": "elsewhere", "accepted": None}
episode: Example = {
    "id": "fnd_0002",
    **{k: symptom[k] for k in ("name", "kind", "strength", "sentence")},
    "since": EVENING,
    "last_seen": LATER,
    "gone_at": None,
}
accepting: Example = {k: risk[k] for k in ("because", "until")}
accepted_symptom: Example = {
    "name": "writes_not_forced",
    "kind": "danger",
    **accepting,
    "accepted_at": EVENING,
    "accepted_by": risk["by"],
}
symptoms: Example = {
    "start": EVENING,
    "end": LATER,
    "windows": 360,
    "seconds": 3600.0,
    "symptoms": [symptom],
    "evaluated": 41,
    "not_judged": [not_judged],
}
metrics: Example = {"qps": 950.0, "tps": 190.0, "p99_ms": 12.5}
p99: Example = {"p99_source": "driver", "p99_of": "transaction"}
measured_window: Example = {
    "id": "win_52",
    "start": EVENING,
    "end": "2026-03-01T18:00:10Z",
    "busy": 0.0,
    "metrics": metrics,
    **p99,
    "failure": None,
    "agent": "agent1",
    "session": SESSION,
    "recommendation": RECOMMENDATION,
    "windows": 1,
}
observation: Example = {
    "id": "win_52",
    "database": DATABASE,
    "engine": "postgresql",
    "engine_version": "16.4",
    "memory_bytes": 34359738368,
    "cores": 8.0,
    "session": SESSION,
    "recommendation": RECOMMENDATION,
    "start": EVENING,
    "end": "2026-03-01T18:00:10Z",
    "received_at": "2026-03-01T18:00:11Z",
    "windows": 1,
    "failure": None,
    **p99,
    "settings": {"work_mem": 8192, "jit": "off"},
    "metrics": metrics,
    "context": {"clients": 8},
    "bounds": {},
}
own_token: Example = {
    "id": "tok_01m80d4s387knw3w7ehz98",
    "name": "an assistant",
    "scopes": ["read", "propose"],
    "database": None,
}
token: Example = {
    "id": "tok_01m80d4s387knw3w7ehz98",
    "name": "its agent",
    "scopes": ["agent"],
    "database": DATABASE,
    "created_at": EVENING,
    "revoked_at": None,
    "expires_at": None,
    "last_used_at": LATER,
}
audit_entry: Example = {
    "id": "aud_01m80d4s387knw3w7ehz98",
    "at": EVENING,
    "action": "recommendation.approve",
    "target": RECOMMENDATION,
    "database": DATABASE,
    "token": "tok_01m80d4s387knw3w7ehz98",
    "token_name": "an operator",
    "address": "192.0.2.7",
    "request_id": "req_01m80d4s387knw3w7ehz98",
    "before": {"state": "proposed"},
    "after": {"state": "approved", "changes": {"work_mem": [4096, 8192]}},
}
event: Example = {
    "id": "ev_01m80d4s387knw3w7ehz98",
    "guard": "p99",
    "metric": "p99_ms",
    "value": 31.0,
    "bound": 18.75,
    "limit": 1.5,
    "baseline": 12.5,
    "hold_s": 60.0,
    "held_s": 61.0,
    "since": EVENING,
    "at": LATER,
    "message": "p99_ms was 31, above 18.75, for 61 s",
}
shown_event = {
    **event,
    "database": DATABASE,
    "session": SESSION,
    "recommendation": RECOMMENDATION,
    "received_at": LATER,
}
knob: Example = {
    "name": "work_mem",
    "setting_source": "server",
    "group": "memory",
    "kind": "integer",
    "unit": "B",
    "range": "64kB … memory / 4",
    "log": True,
    "special": [],
    "versions": "12+",
    "applies": "reload",
    "risk": "none",
    "tuned_by_default": True,
    "rule": "memory / (max_connections * 4)",
    "meaning": "Memory for one sort or hash before it goes to disk",
    "manual": "https://www.postgresql.org/docs/current/runtime-config-resource.html",
}
