"""The records of changes on disk: one file, replaced as a whole with each event."""

from __future__ import annotations

import logging
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lutra_agent.state.change_events import Event
from lutra_agent.state.change_machine import after
from lutra_agent.state.change_record import Changes
from lutra_agent.state.store import State

CHANGES = "changes"
FORMAT = TypeAdapter(Changes)

log = logging.getLogger(__name__)


class ChangeStore:
    """One object for the whole agent: the file's content is validated once. Another process may write there as well."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._read: Any = None
        self._changes = Changes()

    def load(self) -> Changes:
        content = self._state.load(CHANGES)
        if content != self._read:
            self._read, self._changes = content, _validated(content)
        return self._changes

    def write(self, event: Event) -> Changes:
        """The records after `event`, on disk when this returns. Raises IllegalEvent and OSError."""
        before = self.load()
        now = after(before, event)
        if now != before:
            self._state.save(CHANGES, _document(now))
        return now

    def write_or_hold(self, event: Event) -> Changes:
        """The same, but a record that the disk does not accept is kept in memory: a full disk must not prevent
        an undo.
        """
        before = self.load()
        now = after(before, event)
        if now != before:
            self._state.save_or_hold(CHANGES, _document(now))
        return now


def _validated(content: Any) -> Changes:
    if content is None:
        return Changes()
    try:
        return FORMAT.validate_python(content)
    except ValidationError as error:
        log.error("the records of changes are unreadable: %s", error)
        return Changes()


def _document(changes: Changes) -> Any:
    return FORMAT.dump_python(changes, mode="json")
