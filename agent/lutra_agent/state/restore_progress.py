"""How far a restore has come: on disk, so that an agent that is started again does not restart the server once more."""

from __future__ import annotations

import logging

from lutra_agent.state.store import State

FILE = "way_back"
STARTED, RESTARTED = "begun", "arrived"
"""As the file has them."""

log = logging.getLogger(__name__)


class RestoreProgress:
    """What was done to the server since its settings file was restored. Without a `state` only this process knows."""

    def __init__(self, state: State | None) -> None:
        self._state = state
        self._unsaved: str | None = None

    @property
    def started(self) -> bool:
        """A start or a restart was begun: a server on its way up has read the file, and is only to be waited for."""
        return self._stage is not None

    @property
    def restarted(self) -> bool:
        """The server came up from it: another restart would change nothing."""
        return self._stage == RESTARTED

    def note_started(self) -> None:
        self._save(STARTED)

    def note_restarted(self) -> None:
        self._save(RESTARTED)

    def clear(self) -> None:
        """The restore has ended."""
        self._unsaved = None
        if self._state is not None:
            self._state.forget(FILE)

    @property
    def _stage(self) -> str | None:
        saved = None if self._state is None else self._state.load(FILE)
        return self._unsaved or (saved and str(saved["stage"]))

    def _save(self, stage: str) -> None:
        self._unsaved = stage
        if self._state is None:
            return
        try:
            self._state.save(FILE, {"stage": stage})
        except OSError as error:  # the agent's own disk is full: that must not prevent the restore
            log.error("the progress of the restore cannot be saved: %s", error)
        else:
            self._unsaved = None
