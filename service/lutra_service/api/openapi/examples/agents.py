"""Examples: the messages of that database's agent, and the answers."""

from __future__ import annotations

from lutra_models.wire import PROTOCOL

from lutra_service.api.openapi.examples.common import EVENING, LATER, RECOMMENDATION, Example
from lutra_service.api.openapi.examples.databases import agent, event, guardrail, host, metrics, p99, reported, window
from lutra_service.api.openapi.examples.tuning import identity, outcome

rules: Example = {"guardrails": {"p99": guardrail}, "maintenance_windows": [window]}
directive: Example = {
    "id": RECOMMENDATION,
    "recommendation": RECOMMENDATION,
    "settings": {"work_mem": 8192},
    "restart_allowed": False,
    "restore": False,
    "rollback": False,
    "measure": False,
    "must_reach": {"metric": "p99_ms", "goal": "minimize", "value": 12.6},
    "expects": identity,
    "rules": rules,
    "expires_at": "2026-03-02T18:00:00Z",
}
rolled_back: Example = {
    "target": "baseline",
    "at": EVENING,
    "reason": "the nightly reports were slow",
    "settings": {"work_mem": {"before": 8192, "after": 4096}},
}
report: Example = {
    "protocol": PROTOCOL,
    "agent": "agent1",
    "epoch": "5f1d8a",
    "sequence": 52,
    "sent_at": LATER,
    "engine": "postgresql",
    "engine_version": "16.4",
    "role": "primary",
    "identifier": identity["identifier"],
    "host": host,
    "peak_connections": 42,
    "settings_hash": "c0ffee",
    "settings": {"work_mem": reported},
    "window": {"start": EVENING, "end": "2026-03-01T18:00:10Z"},
    "metrics": metrics,
    "texts": {"tables.off_names": "public.queue"},
    **p99,
    "context": {"threads": 8},
    "measures": None,
    "failure": None,
    "ended_early": None,
    "outcomes": [outcome],
    "events": [{**event, "directive": RECOMMENDATION}],
    "rolled_back": [rolled_back],
    "status": agent,
}
