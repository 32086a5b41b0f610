"""Examples: a session on the shop's database, and one trial of it."""

from __future__ import annotations

from lutra_models import __version__

from lutra_service.api.openapi.examples.common import DATABASE, EVENING, RECOMMENDATION, SESSION, Example
from lutra_service.api.openapi.examples.databases import metrics, p99, policy, shown_event, token

objective: Example = {"metric": "p99_ms", "goal": "minimize"}
limit: Example = {"metric": "qps", "at_most": None, "at_least": 900.0}
load: Example = {"name": "many", "weight": 2.0}
new_session: Example = {
    "objective": objective,
    "limits": [limit],
    "mode": "reload_only",
    "approval": "manual",
    "max_trials": 20,
    "verification_rounds": 16,
    "max_changes": 8,
    "exploration": 0,
    "loads": [],
    "aim": "weighted",
    "seed": 0,
}
identity: Example = {
    "role": "primary",
    "engine_version": "16.4",
    "identifier": "7312345678901234567",
    "memory_bytes": 8589934592,
    "cores": 4,
}
gain: Example = {"median": 0.12, "low": 0.04, "high": 0.21}
finalist: Example = {
    "name": "best",
    "recommendation": RECOMMENDATION,
    "configuration": {"work_mem": 8192},
    "changed_settings": 1,
    "readings": [{"p99_ms": 11.2, "qps": 1240.0}, {"p99_ms": 11.9, "qps": 1198.0}, {"p99_ms": 11.4, "qps": 1221.0}],
    "failed": None,
    "gains": {"baseline": gain},
    "gains_by_load": {},
}
verification: Example = {
    "rounds": 3,
    "finalists": [finalist],
    "verdict": "best",
    "sentence": "the best of the trials holds: p99_ms better by +12% (+1% to +24%) over the baseline "
    "(in parentheses: three more rounds, with 90 %)",
}
session: Example = {
    "id": SESSION,
    "database": DATABASE,
    "state": "running",
    **new_session,
    "aim": None,
    "measured_under": None,
    "effective_mode": "reload_only",
    "trials_done": 3,
    "current": RECOMMENDATION,
    "incumbent": RECOMMENDATION,
    "handover": None,
    "for_maintenance_window": None,
    "baseline": {"work_mem": 4096},
    "server": identity,
    "rebased_at": None,
    **p99,
    "message": "",
    "verification": None,
    "leaning": None,
    "events": [shown_event],
    "created_at": EVENING,
    "ended_at": None,
    "opened_by_agent": False,
}
step: Example = {"text": "ALTER SYSTEM SET work_mem = '8MB'", "file": "", "section": ""}
change: Example = {
    "setting": "work_mem",
    "before": 4096,
    "after": 8192,
    "before_text": "4MB",
    "after_text": "8MB",
    "applies": "reload",
    "do": "ALTER SYSTEM SET work_mem = '8MB'",
    "undo": "ALTER SYSTEM RESET work_mem",
    "do_steps": [step],
    "undo_steps": [{**step, "text": "ALTER SYSTEM RESET work_mem"}],
}
reason: Example = {
    "setting": "work_mem",
    "before": 4096,
    "after": 8192,
    "sentence": "Raise work_mem: predicted 8 % lower p99",
    "effect": 0.08,
}
prediction: Example = {
    "median": 11.5,
    "low": 9.8,
    "high": 14.1,
    "level": 0.9,
    "far": False,
    "unlike": [],
    "without": [],
    "record": {"n": 12, "held": 11},
}
term: Example = {
    "name": "sorts and hashes of connections",
    "bytes": 754974720.0,
    "formula": "connections_in_use / 2 * work_mem",
    "assumption": "half of the connections in use run one full sort at once",
    "worst_case_bytes": 2097152000.0,
}
connections: Example = {"counted": 72, "seen": 50, "most": 100}
memory: Example = {
    "terms": [term],
    "total_bytes": 754974720.0,
    "limit_bytes": 6871947673.6,
    "count": "in_use",
    "worst_case_bytes": 2097152000.0,
    "connections": connections,
}
shared: Example = {
    "state": "applied",
    "origin": "improvement",
    "trial": 4,
    "configuration": {"work_mem": 8192},
    "changes": [change],
    "reasons": [reason],
    "predictions": {"p99_ms": prediction},
    "curve": [
        {"settings": 0, "added": [], "share": 0.0, "low": -0.3, "high": 0.3},
        {"settings": 1, "added": ["work_mem"], "share": 1.0, "low": 1.0, "high": 1.0},
    ],
    "measured": None,
    "ended_early": None,
    "failed": None,
    "memory": memory,
}
failure: Example = {"code": "guardrail", "message": "p99_ms: p99_ms is 31 for 90 s, above 18", "by": "agent"}
outcome: Example = {
    "directive": RECOMMENDATION,
    "state": "applied",
    "code": None,
    "message": "",
    "active": {"work_mem": 8192},
    "restarted": False,
    "confirm_by": "2026-03-01T18:15:00Z",
    "at": EVENING,
}
looked_at: Example = {
    "sentence": "Fault: 269 temporary files with 1.74 GB in 1 h, 6.63 MB each, with work_mem = 4 MB.\n"
    "Proposed: 1 change to cure findings. 38 symptoms could be evaluated over 360 windows (1 h): 1 is strong. "
    "No rule for this hardware requires a change (6 settings compared, 2 set on purpose).",
    "symptoms": 38,
    "shown": 1,
    "rules": 6,
    "windows": 360,
    "seconds": 3600.0,
    "least_gain": 0.05,
    "predicted_gain": None,
    "notes": [],
}
comparison: Example = {
    "metric": "p99_ms",
    "verdict": "better",
    "before": 60,
    "after": 12,
    "left_out": 5,
    "busy": 1,
    "ratio": 0.82,
    "low": 0.75,
    "high": 0.9,
    "level": 0.9,
    "rate_of": "qps",
    "rate_low": 310.0,
    "rate_high": 1420.0,
    "sentence": "p99_ms 18 % lower, better (90 % interval: 25 % lower to 10 % lower), by 12 windows against 60 before",
}
ratio: Example = {"ratio": 0.84, "low": 0.8, "high": 0.88}
look: Example = {
    "at": "2026-07-14T09:10:00Z",
    "hours": 24.0,
    "state": "holds",
    "because": "",
    "sentence": "holds: p99_ms 2 % higher than just after the change (90 % interval: 2 % lower to 7 % higher), "
    "16 % lower than before it (90 % interval: 20 % lower to 12 % lower)",
    "held": ratio,
    "since": {"ratio": 1.02, "low": 0.98, "high": 1.07},
}
judgement: Example = {**comparison, "follows": "", "together": None, "lasting": [look]}
leans_on: Example = {
    "workloads": [{"workload": "wl_0d9k3v8m2q7r1t5w4x6z8b", "name": "last year's shop", "weight": 0.62}],
    "without": {"work_mem": 6144},
    "differs": ["work_mem"],
    "predictions": {},
    "sentence": "It uses a past workload: last year's shop (weight 0.62). Without, it would propose work_mem = 6144.",
}
leaning: Example = {
    "trials": 9,
    "mean": 0.31,
    "low": 0.07,
    "high": 0.55,
    "level": 0.8,
    "verdict": "better",
    "sentence": "Past workloads help: the log score of its forecasts is +0.31 (+0.07 to +0.55) with past workloads, "
    "over 9 trials.",
}
recommendation: Example = {
    **shared,
    "id": RECOMMENDATION,
    "database": DATABASE,
    "session": SESSION,
    "parent": None,
    "kind": "search",
    "shortened_from": None,
    "must_reach": 12.6,
    "leans_on": leans_on,
    "looked_at": looked_at,
    "judgement": judgement,
    "before": {"work_mem": 4096},
    "restart_needed": False,
    "warnings": [],
    "outcome": outcome,
    "failure": None,
    "error": None,
    "reason": None,
    "waits": None,
    "seed": 0,
    "key": "5b0c1f7a",
    "package_version": __version__,
    "model": "mv_0000000000000000000000",
    "created_at": EVENING,
    "proposed_at": EVENING,
    "decided_at": EVENING,
    "decided_by": token["id"],
    "decided_by_name": token["name"],
    "applied_at": EVENING,
    "confirmed_at": None,
    "expires_at": "2026-03-02T18:00:00Z",
    "ended_at": None,
    "undone_by": None,
    "handed_out_at": None,
    "withdrawn_at": None,
    "withdrawn_by": None,
}
ended_early: Example = {"metric": "p99_ms", "bound": 14.8, "planned_s": 60.0}
trial: Example = {**shared, "recommendation": RECOMMENDATION, "spent_s": None}
not_known: Example = {
    "setting": "max_connections",
    "before": 100,
    "after": 200,
    "meaning": "The number of sessions that may be open at once.",
    "manual": "19.3.1 Connection Settings",
    "risk": "availability",
    "applies": "restart",
    "memory_bytes": 60397977.0,
}
what_if: Example = {
    **{k: shared[k] for k in ("configuration", "predictions", "changes", "memory")},
    "not_known": [not_known],
    "load": {"rate_of": "qps", "rate": 900.0, "low": 310.0, "high": 1420.0},
    "refusal": None,
    "warnings": [],
    "observations": 12,
    "session": SESSION,
    "fitted_at": EVENING,
    "record": {"p99_ms": {"n": 9, "held": 8, "level": 0.9}},
}
history: Example = {
    "format": 1,
    "knobs": [{"name": "work_mem", "applies": "reload", "risk": "none", "domain": {"low": 4096, "high": 65536}}],
    "objective": objective,
    "limits": [limit],
    "observations": [
        {"configuration": {"work_mem": 4096}, "metrics": metrics, "context": None, "window": None, "failure": None}
    ],
    "pending": [],
    "current": {"work_mem": 4096},
    "starts": [{"work_mem": 16384}],
    "baseline": {"work_mem": 4096},
    "aim": None,
    "context": {},
    "answers": {},
    "server": {"engine": "postgresql", "version": "16.4"},
    "policy": policy,
}
