"""Maxima over the agent's own restarts: memory of other programs, and connections at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lutra_models.server import LARGEST_BYTES, Host
from lutra_models.wire import MOST_CONNECTIONS

from lutra_agent.state.store import State

NAME = "others_memory"
DAYS = 7
"""A program that runs once a week is included."""
STEPS = 32
"""The share of the memory by which a change counts: smaller ones do not affect ranges and rules."""
PEAK_CONNECTIONS = "peak_connections"


class OthersMemory:
    """The most memory that programs other than the server used, day by day.

    Kept on disk. Other programs come and go: they may need their maximum of the last days again.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._kept: dict[int, int] | None = None

    def with_seen(self, host: Host, now: datetime) -> Host:
        """With the most of the last days, `now` included, in whole steps. Nothing is stored if nothing was observed."""
        if host.others_bytes is None:
            return host
        if self._kept is None:
            self._kept = _days(self._state.load(NAME))
        today, step = now.toordinal(), max(1, -(-host.memory_bytes // STEPS))
        seen = -(-host.others_bytes // step) * step
        kept = {day: most for day, most in self._kept.items() if today - DAYS < day <= today}
        kept[today] = max(seen, kept.get(today, 0))
        if kept != self._kept:
            self._kept = kept
            self._state.save_or_hold(NAME, {str(day): most for day, most in kept.items()})
        return replace(host, others_bytes=min(max(kept.values()), host.memory_bytes))


def _days(content: object) -> dict[int, int]:
    """What the folder says, as far as it is that."""
    entries = content.items() if isinstance(content, dict) else ()
    return {
        int(day): most
        for day, most in entries
        if isinstance(day, str)
        and day.isdecimal()
        and len(day) < 9
        and type(most) is int
        and 0 <= most <= LARGEST_BYTES
    }


class PeakConnections:
    """The most connections that this agent ever saw at once on its server.

    Kept on disk. An agent that knows of no connections counts memory for every one that the server allows, and would
    refuse valid proposals of the service.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._kept: int | None = None

    def with_seen(self, seen: int) -> int:
        """The most so far, `seen` included."""
        if self._kept is None:
            self._kept = _count(self._state.load(PEAK_CONNECTIONS))
        if self._kept < seen <= MOST_CONNECTIONS:
            self._kept = seen
            self._state.save_or_hold(PEAK_CONNECTIONS, seen)
        return self._kept


def _count(content: object) -> int:
    """What the folder says, 0 if that is no count."""
    return content if type(content) is int and 0 < content <= MOST_CONNECTIONS else 0
