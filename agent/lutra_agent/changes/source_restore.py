"""How the snapshot of one setting source is restored: by its steps, or by the bytes of its file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from lutra_models.catalog.statements import Step

from lutra_agent.engines.common.source import SettingSource
from lutra_agent.errors import ApplyRefused, DatabaseUnavailable
from lutra_agent.files.saved_file import SavedFile, save_file
from lutra_agent.state.snapshot import Snapshot

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SourceRestore:
    """`names` are the settings of the snapshot that are to be active again."""

    source: SettingSource
    snapshot: Snapshot
    names: list[str]

    def by_steps(self, restart: bool, may_restart: bool) -> bool:
        """Whether the server has to be restarted, because the source refuses the steps.

        Raises ApplyRefused, and where the source asks the server, DatabaseUnavailable.
        """
        texts, active = self.snapshot.texts, self.snapshot.active
        steps = [s for n in reversed(self.names) for s in self.source.undo(n, texts[n], active[n], restart)]
        try:
            self.source.execute(steps)
        except ApplyRefused as error:
            if self.snapshot.file is None:
                raise
            log.error("%s refuses the steps of the restore (%s): restoring its file", self.source.name, error)
            self._restore_file(self.snapshot.file)
            return self._needs_restart(steps, may_restart)
        self._restore_bytes()
        self.source.reload()
        return False

    def beside_the_server(self, restart: bool, whole_file: bool) -> None:
        """Restore a source that is not the server's own, as far as it can be without the server.

        Raises ApplyRefused, CollectionFailed and DatabaseUnavailable.
        """
        if whole_file:
            self.whole_file()
        try:
            self.by_steps(restart, may_restart=False)
        except DatabaseUnavailable:
            if self.snapshot.file is None:
                raise
            self.whole_file()

    def whole_file(self) -> None:
        """Restore the file byte by byte, where there is one. Raises ApplyRefused."""
        if self.snapshot.file is not None:
            self._restore_file(self.snapshot.file)

    def _needs_restart(self, steps: Sequence[Step], may_restart: bool) -> bool:
        """Whether nothing else makes the restored file active; a full disk refused the file alone."""
        try:
            if self.source.reads_file_at_start_alone:
                self.source.execute(steps)
            self.source.reload()
        except ApplyRefused:
            if not may_restart:
                raise
            return True
        return False

    def _restore_bytes(self) -> None:
        """Restore the file's bytes where it says the same differently (another order, another time stamp).

        Where it lacks a restored text of `names`, the source had no room to write it and reported no error.
        """
        file = self.snapshot.file
        now = None if file is None else save_file(file.path)
        if file is None or now is None or now.content == file.content:
            return
        found, wanted = (dict(self.source.file_says(content or b"")) for content in (now.content, file.content))
        if found == wanted or any(found.get(n) != wanted.get(n) for n in self.names):
            self._restore_file(file)

    def _restore_file(self, file: SavedFile) -> None:
        """Restore the whole file, and log which settings of others are lost: their names, as a text may be a secret."""
        now = save_file(file.path)
        found, wanted = (self.source.file_says((f and f.content) or b"") for f in (now, file))
        lost = sorted(n for n in {*found, *wanted} - set(self.snapshot.texts) if found.get(n) != wanted.get(n))
        if lost:
            log.warning("restoring %s undoes what others wrote there since: %s", file.path, ", ".join(lost))
        file.restore()
