"""The progress of an undo, in its change's record: an agent that is started again does not restart the server again."""

from __future__ import annotations

from lutra_agent.control.restore_progress import RestoreProgress
from lutra_agent.state.change_events import UndoProgressed
from lutra_agent.state.change_record import ChangeRecord
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import Progress


class RecordedProgress(RestoreProgress):
    """The progress of the change that is being undone; without one, only this object has it."""

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
