"""Rollbacks on the host that no report contains yet: on disk from the moment an operator made them."""

from __future__ import annotations

from collections.abc import Sequence

from lutra_models.wire import HostRollback

from lutra_agent.state.store import State

ROLLBACKS = "rollbacks"
KEPT = 20


class HostRollbacks:
    def __init__(self, state: State) -> None:
        self._state = state

    def add(self, made: HostRollback) -> None:
        content = [*(self._state.load(ROLLBACKS) or ()), made.model_dump(mode="json")]
        self._state.save(ROLLBACKS, content[-KEPT:])

    def unreported(self) -> list[HostRollback]:
        return [HostRollback.model_validate(r) for r in self._state.load(ROLLBACKS) or ()]

    def clear(self, reported: Sequence[HostRollback]) -> None:
        """A report contains these now; an operator may have made another one meanwhile."""
        if not reported:
            return
        left = [r.model_dump(mode="json") for r in self.unreported() if r not in reported]
        if left:
            self._state.save(ROLLBACKS, left)
        else:
            self._state.forget(ROLLBACKS)
