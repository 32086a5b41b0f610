"""Events of guardrails that no report contains yet: on disk from the moment they happened."""

from __future__ import annotations

import logging

from lutra_models.wire import GuardEvent

from lutra_agent.state.store import State

EVENTS = "events"
KEPT = 100

log = logging.getLogger(__name__)


class GuardEvents:
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
