"""The progress of a restore: the actions on the server since its settings file was restored."""

from __future__ import annotations

from lutra_agent.state.change_events import UndoProgressed
from lutra_agent.state.change_record import ChangeRecord
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import Progress


class RestoreProgress:
    """The progress as this object knows it."""

    def __init__(self) -> None:
        self._stage: Progress | None = None

    @property
    def started(self) -> bool:
        """A server that is starting has read the file, and the caller only waits for it."""
        return self.stage is not None

    @property
    def restarted(self) -> bool:
        """Another restart would change nothing."""
        return self.stage == "restarted"

    @property
    def stage(self) -> Progress | None:
        return self._stage

    def note(self, stage: Progress | None) -> None:
        """None means that another restore begins."""
        self._stage = stage

    def end(self) -> None:
        """The restore has ended."""
        self._stage = None


class RecordedProgress(RestoreProgress):
    """Progress in the record of the change that is being undone: a restarted agent does not restart the server again.

    If no change is being undone, only this object has the progress.
    """

    def __init__(self, changes: ChangeStore) -> None:
        super().__init__()
        self._changes = changes

    @property
    def stage(self) -> Progress | None:
        record = self._undone()
        return super().stage if record is None or record.undo is None else record.undo.progress

    def note(self, stage: Progress | None) -> None:
        record = self._undone()
        if record is None:
            super().note(stage)
        else:
            self._changes.write_or_hold(UndoProgressed(record.directive, stage))

    def _undone(self) -> ChangeRecord | None:
        record = self._changes.load().in_hand
        return None if record is None or record.undo is None else record
