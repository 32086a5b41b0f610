"""The restore of one setting source's snapshot: by its steps, or by the bytes of its file."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lutra_models.catalog.statements import FileLine, Step

from lutra_agent.changes.verify import require_settled
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.source import Backing, SettingSource
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable
from lutra_agent.files.saved_file import SavedFile, save_file
from lutra_agent.state.snapshot import Snapshot

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SourceRestore:
    """`names` are the settings of the snapshot that are to be active again."""

    control: ServerControl
    source: SettingSource
    snapshot: Snapshot
    names: list[str]

    @property
    def lacks_file(self) -> bool:
        """Whether the source has a file of which the snapshot has no bytes that may be written."""
        return self.source.backing is not None and self.file is None

    @property
    def complete_at_start(self) -> bool:
        """Whether all of `names` can be restored before the server starts."""
        backing = self.source.backing
        return backing is None or backing.held_while_down.isdisjoint(self.names)

    @property
    def file(self) -> FileRestore | None:
        backing, saved = self.source.backing, self.snapshot.file
        if backing is None or saved is None:
            return None
        return FileRestore(backing, saved, self.snapshot, self.names)

    def by_steps(self, restart: bool, may_restart: bool) -> bool:
        """Whether the server has to be restarted, because the source refuses the steps.

        Raises ApplyRefused, and if the source asks the server, DatabaseUnavailable.
        """
        texts, active = self.snapshot.texts, self.snapshot.active
        steps = [s for n in reversed(self.names) for s in self.source.undo(n, texts[n], active[n], restart)]
        file = self.file
        if file is not None and file.moved():
            file.lines(up=True)
            steps = [s for s in steps if not isinstance(s, FileLine)]
        try:
            self.source.execute(steps)
        except ApplyRefused as error:
            if file is None:
                raise
            log.error("%s refuses the steps of the restore (%s): restoring its file", self.source.name, error)
            file.lines(up=True)
            return self._needs_restart(file, steps, may_restart)
        if file is not None:
            file.bytes_again()
        self._activate()
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
            if self.file is None:
                raise
            self.lines_or_all(up)

    def before_the_start(self, restart: bool, everything: bool) -> bool:
        """Whether the server's own source is ready for a start of the server: one without a file by its steps, as the
        server may be down because of a setting. `everything`: all that the snapshot has, in place of `names`.
        """
        if self.source.backing is not None:
            return True
        part = replace(self, names=list(self.snapshot.texts)) if everything else self
        try:
            part.by_steps(restart, may_restart=False)
        except (ApplyRefused, DatabaseUnavailable, CollectionFailed) as error:
            log.error("%s cannot be restored before the server is started: %s", self.source.name, error)
            return False
        return True

    def lines_or_all(self, up: bool) -> None:
        """Restore the file's content for `names`; the whole file if there are none. Raises ApplyRefused."""
        if self.file is None:
            return
        if self.names:
            self.file.lines(up)
        else:
            self.file.whole(up)

    def _needs_restart(self, file: FileRestore, steps: Sequence[Step], may_restart: bool) -> bool:
        """Whether nothing else makes the restored file active; a full disk refused the file alone."""
        try:
            if file.backing.read_at_start_alone:
                self.source.execute(steps)
            self._activate()
        except ApplyRefused:
            if not may_restart:
                raise
            return True
        return False

    def _activate(self) -> None:
        self.source.activation.reload()
        require_settled(self.control, [self.source])


@dataclass(frozen=True)
class FileRestore:
    """The two ways to restore the file of a source: by the lines of `names`, or byte by byte as it was `saved`.

    Each raises ApplyRefused if the file cannot be written. `up`: the server runs.
    """

    backing: Backing
    saved: SavedFile
    snapshot: Snapshot
    names: list[str]

    def lines(self, up: bool) -> None:
        """Restore the file's content for `names`, and keep the lines that others have written there since.

        The whole file is restored if it is gone, or does not belong to the source.
        """
        now, held = self._now(), frozenset() if up else self.backing.held_while_down
        texts = {n: self.snapshot.texts[n] for n in self.names if n not in held}
        try:
            content = None if now is None else self.backing.rewritten(now, texts)
        except ValueError as error:
            log.error("%s: %s: restoring the whole file", self.saved.path, error)
            content = None
        if content is None or self._says(content) == self._says(self.saved.content):
            self.whole(up)
        else:
            self._as_now(content).restore()

    def whole(self, up: bool) -> None:
        """Restore the file byte by byte, and log the names of others' settings that are lost, but not their texts,
        which may be secret.
        """
        file = self._whole(up)
        found, wanted = self._says(self._now()), self._says(file.content)
        mine = self.names or self.snapshot.texts
        lost = sorted(n for n in {*found, *wanted} - set(mine) if found.get(n) != wanted.get(n))
        if lost:
            log.warning("restoring %s undoes later edits by others: %s", file.path, ", ".join(lost))
        file.restore()

    def is_whole(self, up: bool) -> bool:
        """Whether `whole` would change nothing."""
        return self._now() == self._whole(up).content

    def moved(self) -> bool:
        """Whether the server alone names a settings file, and one other than when the snapshot was taken.

        If another server answers already, the change is taken out of the file into which it was written.
        """
        if self.backing.settings_file_in(self.snapshot.data_dir) is not None:
            return False
        named, path = self.backing.settings_file(), self.saved.path
        if named not in (None, path):
            log.error("the server names %s as its settings file: restoring %s, which was changed", named, path)
        return named not in (None, path)

    def bytes_again(self) -> None:
        """Restore the file's bytes if it has the same content in a different form (another order, another time stamp).

        If it lacks a restored text of `names`, the source had no room to write it and reported no error.
        """
        now = self._now()
        if now is None or now == self.saved.content:
            return
        found, wanted = self._says(now), self._says(self.saved.content)
        if found == wanted or any(found.get(n) != wanted.get(n) for n in self.names):
            self.lines(up=True)

    def _whole(self, up: bool) -> SavedFile:
        """The file as saved, but for what it may not say of a server that is down."""
        now, names = self._now(), sorted(self.backing.held_while_down)
        if up or now is None or not names:
            return self.saved
        said = self._says(now)
        try:
            held = {n: said.get(n) for n in names}
            return replace(self.saved, content=self.backing.rewritten(self.saved.content or b"", held))
        except ValueError:
            return self.saved

    def _now(self) -> bytes | None:
        """What the file holds; None if there is none, or this account may not write it."""
        now = save_file(self.saved.path)
        return None if now is None else now.content

    def _as_now(self, content: bytes) -> SavedFile:
        """The file with another content, as its owner and mode are by now."""
        now = save_file(self.saved.path) or self.saved
        return replace(self.saved, content=content, mode=now.mode, owner=now.owner)

    def _says(self, content: bytes | None) -> Mapping[str, str]:
        return self.backing.says(content or b"")
