"""How the snapshot of one setting source is restored: by its steps, or by the bytes of its file."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lutra_models.catalog.statements import FileLine, Step

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

        Raises ApplyRefused, and if the source asks the server, DatabaseUnavailable.
        """
        texts, active = self.snapshot.texts, self.snapshot.active
        steps = [s for n in reversed(self.names) for s in self.source.undo(n, texts[n], active[n], restart)]
        if self._moved():
            self.lines(up=True)
            steps = [s for s in steps if not isinstance(s, FileLine)]
        try:
            self.source.execute(steps)
        except ApplyRefused as error:
            if self.snapshot.file is None:
                raise
            log.error("%s refuses the steps of the restore (%s): restoring its file", self.source.name, error)
            self.lines(up=True)
            return self._needs_restart(steps, may_restart)
        self._restore_bytes()
        self.source.reload()
        return False

    def beside_the_server(self, restart: bool, up: bool) -> None:
        """Restore a source that is not the server's own, as far as it can be without the server.

        Raises ApplyRefused, CollectionFailed and DatabaseUnavailable.
        """
        if not up:
            self.lines_or_all(up)
        try:
            self.by_steps(restart, may_restart=False)
        except DatabaseUnavailable:
            if self.snapshot.file is None:
                raise
            self.lines_or_all(up)

    def lines_or_all(self, up: bool) -> None:
        """Restore what the file says of `names`; the whole file where there are none. Raises ApplyRefused."""
        if self.names:
            self.lines(up)
        else:
            self.whole_file(up)

    def lines(self, up: bool) -> None:
        """Restore what the file says of `names`, and leave the lines that others wrote there since.

        The whole file if it is gone, or is not the source's. `up`: the server runs. Raises ApplyRefused.
        """
        file, now = self.snapshot.file, self._now()
        if file is None:
            return
        held = frozenset() if up else self.source.held_while_down
        texts = {n: self.snapshot.texts[n] for n in self.names if n not in held}
        try:
            content = None if now is None else self.source.rewritten(now, texts)
        except ValueError as error:
            log.error("%s: %s: restoring the whole file", file.path, error)
            content = None
        if content is None or self._says(content) == self._says(file.content):
            self.whole_file(up)
        else:
            self._as_now(content).restore()

    def whole_file(self, up: bool) -> None:
        """Restore the file byte by byte, where there is one, and log which settings of others are lost: their names, as
        a text may be a secret. Raises ApplyRefused."""
        file = self._whole(up)
        if file is None:
            return
        found, wanted = self._says(self._now()), self._says(file.content)
        mine = self.names or self.snapshot.texts
        lost = sorted(n for n in {*found, *wanted} - set(mine) if found.get(n) != wanted.get(n))
        if lost:
            log.warning("restoring %s undoes later edits by others: %s", file.path, ", ".join(lost))
        file.restore()

    def is_whole(self, up: bool) -> bool:
        """Whether `whole_file` would change nothing."""
        file = self._whole(up)
        return file is None or self._now() == file.content

    def _whole(self, up: bool) -> SavedFile | None:
        """The file of the snapshot, but for what it may not say of a server that is down."""
        file, now = self.snapshot.file, self._now()
        if up or file is None or now is None or not self.source.held_while_down:
            return file
        said = self._says(now)
        try:
            held = {n: said.get(n) for n in sorted(self.source.held_while_down)}
            return replace(file, content=self.source.rewritten(file.content or b"", held))
        except ValueError:
            return file

    def _moved(self) -> bool:
        """Whether the server alone names a settings file, and another one than when the snapshot was taken.

        Another server may answer by now: what was written then is taken out where it was written.
        """
        file = self.snapshot.file
        if file is None or self.source.settings_file_in(self.snapshot.data_dir) is not None:
            return False
        named = self.source.settings_file()
        if named not in (None, file.path):
            log.error("the server names %s as its settings file: restoring %s, which was changed", named, file.path)
        return named not in (None, file.path)

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
        file, now = self.snapshot.file, self._now()
        if file is None or now is None or now == file.content:
            return
        found, wanted = self._says(now), self._says(file.content)
        if found == wanted or any(found.get(n) != wanted.get(n) for n in self.names):
            self.lines(up=True)

    def _now(self) -> bytes | None:
        """What the file holds; None if there is none, or this account may not write it."""
        now = None if self.snapshot.file is None else save_file(self.snapshot.file.path)
        return None if now is None else now.content

    def _as_now(self, content: bytes) -> SavedFile:
        """The file with another content, as its owner and mode are by now."""
        assert self.snapshot.file is not None
        now = save_file(self.snapshot.file.path) or self.snapshot.file
        return replace(self.snapshot.file, content=content, mode=now.mode, owner=now.owner)

    def _says(self, content: bytes | None) -> Mapping[str, str]:
        return self.source.file_says(content or b"")
