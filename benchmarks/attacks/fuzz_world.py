"""What requests are generated against: two databases with everything that hangs on them, and a token per scope.

The scopes' tokens are of the first database. The second is somebody else's: its names carry a mark that no answer to
these tokens may hold.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.fakes.tasks import Document
from tests.support.service.hosted import Agent, Api
from tests.support.service.served import Served

SCOPES = ("none", "agent", "read", "propose", "operate", "admin")
POLICY: Document = {
    "pins": {},
    "ranges": {},
    "movable": None,
    "restart": True,
    "durability": False,
    "memory_fraction": 0.8,
}
SESSION = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only", "max_trials": 20}
PARTS = ("", "/tokens", "/settings", "/windows", "/guardrails", "/events", "/maintenance-windows", "/recommendations")


@dataclass
class Owned:
    """A database and the ids of what belongs to it, by the name that a path's placeholder has."""

    ids: dict[str, list[str]] = field(default_factory=dict)
    agent_token: str = ""

    @property
    def database(self) -> str:
        return self.ids["database"][0]


class World:
    def __init__(self, served: Served) -> None:
        self.api: Api = served.api
        self.client: httpx.Client = served.client
        self.mark = f"foreign-{secrets.token_hex(8)}"
        self.own, self.foreign = self._made("shop"), self._made(self.mark)
        self.tokens = {scope: self._token(self.own, scope, f"{scope} token")[1] for scope in SCOPES[1:]}
        self.document: Document = self.api.ask("GET", "/openapi.json").json()
        for owned, name in ((self.own, "shop"), (self.foreign, self.mark)):
            self.refresh(owned, name)
        self.before = self.state_of_foreign()
        self.bodies = self._bodies()

    def refresh(self, owned: Owned | None = None, name: str = "shop") -> None:
        """A good report, an open session, a proposed recommendation and a spare token: requests use these up."""
        owned = owned or self.own
        path = f"/v1/databases/{owned.database}"
        self.api.ask("PATCH", path, {"policy": POLICY})
        agent = Agent(self.client, owned.agent_token, owned.database, mode="reload_only")
        agent.name = secrets.token_hex(8)
        agent.ask("POST", f"{path}/reports", agent.report())
        agent.ask("POST", f"{path}/reports", agent.report(**agent.window(qps=900.0, tps=130.0, p99_ms=12.0)))
        for kind, answer in (
            ("session", self.api.ask("POST", f"{path}/sessions", SESSION)),
            ("recommendation", self.api.ask("POST", f"{path}/recommendations", {"settings": {"work_mem": "8MB"}})),
            ("token", self.api.ask("POST", f"{path}/tokens", {"name": f"{name} spare", "scopes": ["read"]})),
        ):
            if answer.is_success and "id" in answer.json():
                owned.ids.setdefault(kind, []).append(answer.json()["id"])

    def state_of_foreign(self) -> str:
        """Everything that the service says of the second database, as its administrator sees it.

        A session's message is left out: it says in time that the agent is silent.
        """
        path = f"/v1/databases/{self.foreign.database}"
        found = {part: self.api.ask("GET", path + part).json() for part in (*PARTS, "/sessions")}
        for session in found["/sessions"]["items"]:
            del session["message"]
        return json.dumps(found, sort_keys=True)

    def _made(self, name: str) -> Owned:
        id_ = self.api.take("POST", "/v1/databases", {"name": name, "engine": "postgresql"})["id"]
        owned = Owned({"database": [id_]})
        owned.agent_token = self._token(owned, "agent", f"{name} agent")[1]
        return owned

    def _token(self, owned: Owned, scope: str, name: str) -> tuple[str, str]:
        made = self.api.take("POST", f"/v1/databases/{owned.database}/tokens", {"name": name, "scopes": [scope]})
        return made["id"], made["token"]

    def _bodies(self) -> dict[tuple[str, str], Any]:
        """A right body for each call that takes one, to be changed a little."""
        agent = Agent(self.client, self.own.agent_token, self.own.database, mode="reload_only")
        report = agent.report(**agent.window(qps=900.0, tps=130.0, p99_ms=12.0))
        rail = {"limit": 1.5, "hold_s": 60, "enabled": True}
        event = {"id": "ev_1", "guard": "qps", "metric": "qps", "value": 1.0, "bound": 2.0, "limit": 0.5, "held_s": 60}
        event |= {"hold_s": 60, "since": report["sent_at"], "at": report["sent_at"], "message": "qps is low"}
        directive = self.own.ids.get("recommendation", ["rec_1"])[0]
        outcome = {"directive": directive, "state": "applied", "at": report["sent_at"], "active": {"work_mem": 8192}}
        window = {"weekdays": ["sat"], "start": "02:00", "minutes": 120, "zone": "Europe/Berlin"}
        database = "/v1/databases/{database}"
        return {
            ("post", "/v1/databases"): {"name": "another", "engine": "postgresql"},
            ("patch", database): {"policy": {**POLICY, "pins": {"max_connections": 200}}},
            ("post", f"{database}/tokens"): {"name": "one more", "scopes": ["read"]},
            ("put", f"{database}/guardrails"): {"guardrails": {"p99": rail}},
            ("put", f"{database}/maintenance-windows"): {"windows": [window]},
            ("post", f"{database}/reports"): {**report, "events": [event], "outcomes": [outcome]},
            ("post", f"{database}/recommendations"): {"settings": {"work_mem": "16MB"}},
            ("post", f"{database}/predictions"): {"settings": {"work_mem": "16MB"}, "level": 0.9},
            ("post", f"{database}/sessions"): {**SESSION, "limits": [{"metric": "p99_ms", "at_most": 50}]},
            ("post", "/v1/recommendations/{recommendation}/approve"): {"settings": ["work_mem"]},
        }
