"""Outcomes of directives: made of what is active now, and recorded, so that the same is reported again."""

from __future__ import annotations

import logging
from collections.abc import Callable

from lutra_models.catalog import meet
from lutra_models.knobs import Value
from lutra_models.server import Server
from lutra_models.wire import ApplyCode, Outcome

from lutra_agent.clock import Clock
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable
from lutra_agent.state.journal import JOURNAL
from lutra_agent.state.store import State

log = logging.getLogger(__name__)


class Outcomes:
    """`read_server` reads the live server."""

    def __init__(self, state: State, clock: Clock, read_server: Callable[[], Server]) -> None:
        self._state = state
        self._clock = clock
        self._read_server = read_server

    def make(
        self,
        directive: str,
        state: str,
        code: ApplyCode | None = None,
        message: str = "",
        names: tuple[str, ...] = (),
        restarted: bool = False,
    ) -> Outcome:
        return Outcome.model_validate(
            {
                "directive": directive,
                "state": state,
                "code": code,
                "message": message[:1000],
                "active": self._active(names),
                "restarted": restarted,
                "at": self._clock.now(),
            }
        )

    def _active(self, names: tuple[str, ...]) -> dict[str, Value]:
        if not names:
            return {}
        try:
            live = meet(self._read_server())
        except (DatabaseUnavailable, CollectionFailed):
            return {}
        return dict(live.values.restrict(names))

    def commit(self, outcome: Outcome) -> Outcome:
        """Record the outcome, and end the change's journal."""
        self.record(outcome)
        self._state.forget(JOURNAL)
        return outcome

    def record(self, outcome: Outcome) -> Outcome:
        self._state.record_outcome(outcome)
        words = " ".join(filter(None, (outcome.state, outcome.code, outcome.message)))
        log.info("directive %s: %s", outcome.directive, words)
        return outcome
