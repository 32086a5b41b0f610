"""The progress of a restore: the actions on the server since its settings file was restored."""

from __future__ import annotations

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
