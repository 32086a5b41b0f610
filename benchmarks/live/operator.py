"""A person at the live door: a real service, a real agent beside the server, a session, proposals and approvals."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from lutra_lab.servers.base import ScratchServer

from tests.support.agents import agent_process, document, write_toml
from tests.support.served import Served

EVERY_S = 5
SECOND_LOOK_S = 120.0
"""How long the operator waits for a settled session to look again."""
LONGEST_S = 900.0
"""A proposal, or its measurement, takes no longer; what does is an error and ends the scenario."""
AGENT = {"interval_s": EVERY_S, "warmup_windows": 1, "restart_warmup_s": 20, "ranges": "catalogue"}
ALWAYS = [{"weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "start": "00:00", "minutes": 1440}]
SESSION = {
    "objective": {"metric": "p99_ms", "goal": "minimize"},
    "mode": "restart_in_window",
    "approval": "manual",
    "max_trials": 12,
}
Document = dict[str, Any]


@dataclass
class Operator:
    """Sees everything through REST, as a person would."""

    client: httpx.Client
    database: str
    session: str

    def next(self) -> Document | None:
        """The next proposal that changes something; None where the session says that nothing is worth changing, and
        still says so at its second look.

        What changes nothing is approved and waited for: a person would do so too. Raises TimeoutError.
        """
        deadline, settled = time.monotonic() + LONGEST_S, time.monotonic() + SECOND_LOOK_S
        while time.monotonic() < deadline:
            session = self._get(f"/v1/sessions/{self.session}")
            if session["state"] == "settled" and time.monotonic() < settled:
                time.sleep(EVERY_S)
                continue
            if session["state"] != "running":
                return None
            for row in self._get(f"/v1/databases/{self.database}/recommendations")["items"]:
                if row["state"] == "proposed" and row["changes"]:
                    return row
                if row["state"] == "proposed":
                    self.approve(row)
            self.client.post(f"/v1/databases/{self.database}/recommendations", headers={"Prefer": "wait=20"})
            time.sleep(EVERY_S)
        raise TimeoutError(f"no proposal within {LONGEST_S:.0f} s: {self._get(f'/v1/sessions/{self.session}')}")

    def approve(self, proposal: Document) -> Document:
        """As it is after it was measured, or undone. Raises TimeoutError."""
        self.client.post(f"/v1/recommendations/{proposal['id']}/approve").raise_for_status()
        deadline = time.monotonic() + LONGEST_S
        while time.monotonic() < deadline:
            now = self._get(f"/v1/recommendations/{proposal['id']}?until=measured", wait=30)
            if now["state"] not in ("approved", "applied"):
                return now
            time.sleep(1)
        raise TimeoutError(f"not measured within {LONGEST_S:.0f} s: {now['state']}")

    def said(self) -> str:
        return str(self._get(f"/v1/sessions/{self.session}").get("message") or "")

    def _get(self, path: str, wait: int = 0) -> Document:
        answer = self.client.get(path, headers={"Prefer": f"wait={wait}"} if wait else None)
        answer.raise_for_status()
        found: Document = answer.json()
        return found


@contextmanager
def operating(server: ScratchServer, wrap: Any, folder: Path, observed_s: int) -> Iterator[Operator]:
    """A service and an agent, which has observed the load for a while when the session begins.

    `wrap` makes a command run on the small host.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Served(folder) as served:
        client = httpx.Client(
            base_url=served.client.base_url, headers={"Authorization": f"Bearer {served.token}"}, timeout=70
        )
        database = _post(client, "/v1/databases", {"name": "live", "engine": server.engine})["id"]
        window = client.put(f"/v1/databases/{database}/maintenance-windows", json={"windows": ALWAYS})
        window.raise_for_status()
        token = _post(client, f"/v1/databases/{database}/tokens", {"name": "agent", "scopes": ["agent"]})["token"]
        restart = {
            "command": list(wrap(server.restart_command)),
            "start_command": list(wrap(server.start_command)),
            "timeout_s": 300,
        }
        sections = {"service": {"database": database}, "agent": AGENT, "restart": restart}
        url = str(client.base_url).rstrip("/")
        made = document(server, url, folder / "agent", "restart_in_window", **sections)
        with agent_process(write_toml(folder / "agent.toml", made), token):
            time.sleep(observed_s)
            session = _post(client, f"/v1/databases/{database}/sessions", SESSION)["id"]
            yield Operator(client, database, session)


def settings_of(proposal: Document) -> Sequence[str]:
    return [change["setting"] for change in proposal["changes"]]


def _post(client: httpx.Client, path: str, body: Any) -> Document:
    answer = client.post(path, json=body)
    if answer.is_error:
        raise RuntimeError(f"{path}: {answer.text}")
    found: Document = answer.json()
    return found
