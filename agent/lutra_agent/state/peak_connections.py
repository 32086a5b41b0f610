"""The most connections that this agent ever saw at once on its server, over its own restarts."""

from __future__ import annotations

from lutra_models.wire import MOST_CONNECTIONS

from lutra_agent.state.store import State

NAME = "peak_connections"


class PeakConnections:
    """Kept on disk. An agent that knows of no connections counts memory for every one that the server allows, and would
    refuse valid proposals of the service.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._kept: int | None = None

    def with_seen(self, seen: int) -> int:
        """The most so far, `seen` included."""
        if self._kept is None:
            self._kept = _count(self._state.load(NAME))
        if self._kept < seen <= MOST_CONNECTIONS:
            self._kept = seen
            self._state.save_or_hold(NAME, seen)
        return self._kept


def _count(content: object) -> int:
    """What the folder says, 0 if that is no count."""
    return content if type(content) is int and 0 < content <= MOST_CONNECTIONS else 0
