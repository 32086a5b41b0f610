"""How far a way back has come: on disk, so that an agent that is started again does not begin anew."""

from __future__ import annotations

import logging

from lutra_agent.state import State

WAY_BACK = "way_back"
BEGUN, ARRIVED = "begun", "arrived"

log = logging.getLogger(__name__)


class WayBack:
    """What was done to the server since its file was put back. Without a `state` this process alone remembers."""

    def __init__(self, state: State | None) -> None:
        self._state = state
        self._unkept: str | None = None

    @property
    def begun(self) -> bool:
        """A start or a restart was begun: a server on its way up has read the file, and is only to be waited for."""
        return self._stage is not None

    @property
    def arrived(self) -> bool:
        """The server came up from one: another restart would change nothing."""
        return self._stage == ARRIVED

    def begin(self) -> None:
        self._keep(BEGUN)

    def arrive(self) -> None:
        self._keep(ARRIVED)

    def end(self) -> None:
        self._unkept = None
        if self._state is not None:
            self._state.forget(WAY_BACK)

    @property
    def _stage(self) -> str | None:
        kept = None if self._state is None else self._state.load(WAY_BACK)
        return self._unkept or (kept and str(kept["stage"]))

    def _keep(self, stage: str) -> None:
        self._unkept = stage
        if self._state is None:
            return
        try:
            self._state.save(WAY_BACK, {"stage": stage})
        except OSError as error:  # the agent's own disk is full: that must not bar the way back
            log.error("the progress of the undo cannot be stored: %s", error)
        else:
            self._unkept = None
