"""Guard events and an operator's rollbacks that no report contains yet, on disk."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from lutra_models.wire import GuardEvent, HostRollback

from lutra_agent.state.store import State

EVENTS = "events"
KEPT = 100

log = logging.getLogger(__name__)
ROLLBACKS = "rollbacks"
ROLLBACKS_KEPT = 20


class GuardEvents:
    """A guard's events, from the moment they happened."""

    def __init__(self, state: State) -> None:
        self._state = state

    def add(self, event: GuardEvent) -> None:
        try:
            content = [*(self._state.load(EVENTS) or ()), event.model_dump(mode="json")]
            self._state.save(EVENTS, content[-KEPT:])
        except OSError as error:  # a full disk must not prevent an undo
            log.error("an event cannot be stored: %s", error)

    def unreported(self) -> list[GuardEvent]:
        return [GuardEvent.model_validate(e) for e in self._state.load(EVENTS) or ()]

    def clear(self) -> None:
        """A report contains all of them now."""
        if self._state.load(EVENTS) is not None:
            self._state.forget(EVENTS)


class HostRollbacks:
    """Rollbacks on the host, from the moment an operator made them."""

    def __init__(self, state: State) -> None:
        self._state = state

    def add(self, made: HostRollback) -> None:
        content = [*(self._state.load(ROLLBACKS) or ()), made.model_dump(mode="json")]
        self._state.save(ROLLBACKS, content[-ROLLBACKS_KEPT:])

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
