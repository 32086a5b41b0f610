"""Outcomes and events that no report holds yet: on disk from when they happened."""

from __future__ import annotations

import logging
from typing import Any

from lutra_models.wire import GuardEvent, Outcome

from lutra_agent.state.store import State

EVENTS = "events"
OUTCOMES = "outcomes"
KEPT = 100

log = logging.getLogger(__name__)


class Outbox:
    def __init__(self, state: State) -> None:
        self._state = state

    def add_event(self, event: GuardEvent) -> None:
        self._add(EVENTS, event.model_dump(mode="json"))

    def add_outcome(self, outcome: Outcome) -> None:
        self._add(OUTCOMES, outcome.model_dump(mode="json"))

    def events(self) -> list[GuardEvent]:
        return [GuardEvent.model_validate(e) for e in self._state.load(EVENTS) or ()]

    def outcomes(self) -> list[Outcome]:
        return [Outcome.model_validate(o) for o in self._state.load(OUTCOMES) or ()]

    def clear(self) -> None:
        """A report holds all of it now."""
        for name in (EVENTS, OUTCOMES):
            if self._state.load(name) is not None:
                self._state.forget(name)

    def _add(self, name: str, content: Any) -> None:
        try:
            self._state.save(name, [*(self._state.load(name) or ()), content][-KEPT:])
        except OSError as error:  # a full disk must not prevent a restore
            log.error("%s cannot be kept: %s", name, error)
