"""Examples of a receiver, and of a message for it."""

from __future__ import annotations

from lutra_service.api.openapi.examples.common import DATABASE, EVENING, LATER, RECOMMENDATION, Example

wishes: Example = {
    "kinds": ["reverted", "guard", "agent_silent"],
    "databases": [],
    "labels": ["shops"],
    "quiet_hours": {"start": "22:00", "end": "07:00", "zone": "Europe/Berlin"},
}
new_receiver: Example = {
    "name": "on call",
    "kind": "webhook",
    "target": "https://hooks.example.com/lutra",
    **wishes,
}
receiver: Example = {
    "id": "rcv_01m80d4s387knw3w7ehz98",
    "name": "on call",
    "kind": "webhook",
    "address": "https://hooks.example.com/…",
    **wishes,
    "enabled": True,
    "disabled_because": None,
    "retry_at": None,
    "created_at": EVENING,
}
delivery: Example = {
    "id": "msg_01m80d4s387knw3w7ehz98",
    "receiver": receiver["id"],
    "kind": "applied",
    "database": DATABASE,
    "text": f"shop: a change was applied by agent shop-1: work_mem 4MB → 24MB: `lutra show {RECOMMENDATION}`",
    "facts": {
        "database": {"id": DATABASE, "name": "shop", "label": "shops"},
        "target": RECOMMENDATION,
        "changes": {"work_mem": ["4MB", "24MB"]},
        "link": f"/v1/recommendations/{RECOMMENDATION}",
    },
    "state": "delivered",
    "digest": None,
    "at": EVENING,
    "attempts": 1,
    "tried_at": EVENING,
    "status": 204,
    "error": None,
    "ended_at": LATER,
}
