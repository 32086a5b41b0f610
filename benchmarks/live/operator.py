"""A person at the live door: a real service, a real agent beside the server, a session, proposals and approvals."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_client import Client, Conflict
from lutra_client.schemas import MaintenanceWindowBody, NewSession, RecommendationAnswer
from lutra_lab.servers.base import ScratchServer

from tests.support.agent.processes import agent_process, document, write_toml
from tests.support.service.served import Served

EVERY_S = 5
SECOND_LOOK_S = 120.0
"""How long the operator waits for a settled session to look again."""
LONGEST_S = 900.0
"""A proposal, or its measurement, takes no longer; what does is an error and ends the scenario."""
AGENT = {"interval_s": EVERY_S, "warmup_windows": 1, "restart_warmup_s": 20, "ranges": "catalogue"}
ALWAYS: list[MaintenanceWindowBody] = [
    {"weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "start": "00:00", "minutes": 1440}
]
SESSION: NewSession = {
    "objective": {"metric": "p99_ms", "goal": "minimize"},
    "mode": "restart_in_window",
    "approval": "manual",
    "max_trials": 12,
}


@dataclass
class Operator:
    """Sees everything through REST, as a person would."""

    client: Client
    database: str
    session: str

    def next(self) -> RecommendationAnswer | None:
        """The next proposal that changes something; None where the session says that nothing is worth changing, and
        still says so at its second look.

        What changes nothing is approved and waited for: a person would do so too. Raises TimeoutError and TimedOut.
        """
        deadline, settled = time.monotonic() + LONGEST_S, time.monotonic() + SECOND_LOOK_S
        while time.monotonic() < deadline:
            session = self.client.sessions.get(self.session)
            if session["state"] == "settled" and time.monotonic() < settled:
                time.sleep(EVERY_S)
                continue
            if session["state"] != "running":
                return None
            for row in self.client.recommendations.list(self.database, state="proposed"):
                if row["changes"]:
                    return row
                self.approve(row)
            with suppress(Conflict):  # it settled, or ended, meanwhile
                self.client.recommendations.ask(self.database, wait_s=20)
            time.sleep(EVERY_S)
        raise TimeoutError(f"no proposal within {LONGEST_S:.0f} s: {self.client.sessions.get(self.session)}")

    def approve(self, proposal: RecommendationAnswer) -> RecommendationAnswer:
        """As it is after it was measured, or undone. Raises TimedOut."""
        self.client.recommendations.approve(proposal["id"])
        measured = self.client.recommendations.get.request(proposal["id"], until="measured", wait_s=30)
        over = ("approved", "applied")
        return self.client.wait_until(measured, lambda now: now["state"] not in over, timeout_s=LONGEST_S, every_s=1)

    def said(self) -> str:
        return str(self.client.sessions.get(self.session)["message"] or "")


@contextmanager
def operating(server: ScratchServer, wrap: Any, folder: Path, observed_s: int) -> Iterator[Operator]:
    """A service and an agent, which has observed the load for a while when the session begins.

    `wrap` makes a command run on the small host.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Served(folder) as served, Client(str(served.client.base_url), served.token) as client:
        database = client.databases.register(name="live", engine=server.engine)["id"]
        client.protection.set_maintenance_windows(database, windows=ALWAYS)
        token = client.tokens.create(database, name="agent", scopes=["agent"])["token"]
        assert token is not None  # None is the answer to a repeated request alone
        restart = {
            "command": list(wrap(server.restart_command)),
            "start_command": list(wrap(server.start_command)),
            "timeout_s": 300,
        }
        sections: dict[str, dict[str, Any]] = {"service": {"database": database}, "agent": AGENT, "restart": restart}
        made = document(server, client.url, folder / "agent", "restart_in_window", **sections)
        with agent_process(write_toml(folder / "agent.toml", made), token):
            time.sleep(observed_s)
            session = client.sessions.open(database, **SESSION)["id"]
            yield Operator(client, database, session)


def settings_of(proposal: RecommendationAnswer) -> Sequence[str]:
    return [change["setting"] for change in proposal["changes"] or ()]
