"""Outcomes of directives, from the active settings."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from lutra_models.catalog import meet
from lutra_models.errors import ApplyCode
from lutra_models.knobs import Value
from lutra_models.server import Server
from lutra_models.wire import Outcome

from lutra_agent.clock import Clock
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable

log = logging.getLogger(__name__)


class Outcomes:
    """`read_server` reads the live server."""

    def __init__(self, clock: Clock, read_server: Callable[[], Server]) -> None:
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
        confirm_s: float | None = None,
        moves: str = "",
    ) -> Outcome:
        """`names` are the settings whose active values it has; the change is provisional for `confirm_s`. `moves` is
        the list of changes for the log.
        """
        now = self._clock.now()
        outcome = Outcome.model_validate(
            {
                "directive": directive,
                "state": state,
                "code": code,
                "message": message[:1000],
                "active": self._active(names),
                "restarted": restarted,
                "confirm_by": None if confirm_s is None else now + timedelta(seconds=confirm_s),
                "at": now,
            }
        )
        why = " ".join(filter(None, (code, outcome.message)))
        log.info("directive %s: %s", directive, ": ".join(filter(None, (state, moves, why))))
        return outcome

    def _active(self, names: tuple[str, ...]) -> dict[str, Value]:
        if not names:
            return {}
        try:
            live = meet(self._read_server())
        except (DatabaseUnavailable, CollectionFailed):
            return {}
        return dict(live.values.restrict(names))
