"""The application's load beside an attacked agent, which collapses after some changes.

A guard of the agent's own file has to see that, whatever the service said of guards meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lutra_lab.servers.base import ScratchServer

TRANSACTIONS = 8
COLLAPSE_SHARE = 0.3
COLLAPSE_S = 200.0
LOAD = "UPDATE attacked SET n = n + 1"


@dataclass
class Traffic:
    """`collapsed` says after which directives, and when."""

    server: ScratchServer
    rng: random.Random
    collapsed: dict[str, datetime] = field(default_factory=dict)
    until: datetime | None = None

    def __post_init__(self) -> None:
        self.server.sql("CREATE TABLE attacked (n int)")
        self.server.sql("INSERT INTO attacked VALUES (0)")

    def go_on(self, now: datetime) -> None:
        if self.until is not None and now < self.until:
            return
        self.until = None
        for _ in range(TRANSACTIONS):
            self.server.sql(LOAD)

    def changed(self, now: datetime, directive: str) -> None:
        """A change was applied just now."""
        if self.until is None and self.rng.random() < COLLAPSE_SHARE:
            self.until = now + timedelta(seconds=COLLAPSE_S)
            self.collapsed[directive] = now

    def not_guarded(self, outcomes: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
        """Changes after which the traffic collapsed, and which were confirmed while it was down."""
        found = []
        for directive, since in self.collapsed.items():
            confirmed = outcomes.get((directive, "confirmed"))
            if confirmed and since < datetime.fromisoformat(confirmed["at"]) < since + timedelta(seconds=COLLAPSE_S):
                found.append(f"{directive} was confirmed while the traffic was down: the file's guard did not fire")
        return found
