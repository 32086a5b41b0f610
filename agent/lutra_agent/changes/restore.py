"""The restore of snapshots, in all their setting sources, with the server up or down."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER

from lutra_agent.changes.source_restore import SourceRestore
from lutra_agent.changes.verify import is_restored, verify_restored
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, DidNotStart, LoginRefused
from lutra_agent.state.snapshot import Snapshots, texts_in

NOT_OURS = (
    "the server is down, and the agent may not restore its settings file: it was not saved, or its folder holds "
    "another server's data; start the server by hand, and the agent restores its settings by statements"
)

log = logging.getLogger(__name__)


def restore(engine: Engine, control: ServerControl, before: Snapshots, names: Sequence[str], restart: bool) -> None:
    """Restore the texts of `names` in the settings files and, with `restart`, their values; then verify them.

    The sources other than the server's own come first, in the reverse order of a change: they are restored whether or
    not the server answers, and it may read them at its start. If one cannot be restored, the others still are. A server
    that is down is started with the files' former lines of `names`. If it does not start, or without `names`, it is
    started with the whole former files. Raises DidNotStart, DatabaseUnavailable, and ApplyRefused, including when a
    restart would lose data or another server answers than that of the snapshots.

    A settings file is written only while the data folder has the name that it had when the bytes were saved.
    """
    _Restore(engine, control, whose_files_are_there(engine, before), list(names), restart).run()


def require_same_server(engine: Engine, before: Snapshots) -> None:
    """Raises ApplyRefused if another server answers than the snapshots are of, and DatabaseUnavailable."""
    own, identity, place = before[SERVER], engine.health.identity(), engine.health.place()
    name = "" if place.folder is None else engine.health.name_in(place.folder)
    if own.name:  # its data lay on this host
        same = place.folder is not None and (name == own.name or own.identifier == identity.identifier != "")
    else:
        same = own.identifier in ("", identity.identifier)
    if same:
        return
    was, now = own.name or own.identifier, name or identity.identifier or "one without a name of its own"
    message = f"the settings to restore are those of another server ({was}) than the one that answers ({now})"
    how = "connect the agent to the former one again: until then neither is changed"
    raise ApplyRefused(ApplyCode.SERVER_CHANGED, "; ".join(filter(None, (message, how, place.doubt))))


def whose_files_are_there(engine: Engine, before: Snapshots) -> Snapshots:
    """The snapshots, without the server's settings file if its folder now holds other data."""
    own = before.get(SERVER)
    if own is None or own.file is None:
        return before
    name = "" if own.data_dir is None else engine.health.name_in(own.data_dir)
    if name and name == own.name:
        return before
    message = (
        "%s is left as it is: %s is not known to hold the data of the server that it was saved for (now %s, then %s)"
    )
    log.warning(message, own.file.path, own.data_dir, name or "unknown", own.name or "unknown")
    return {**before, SERVER: replace(own, file=None)}


@dataclass(frozen=True)
class _Restore:
    engine: Engine
    control: ServerControl
    before: Snapshots
    names: list[str]
    restart: bool

    def run(self) -> None:
        if self._up():
            try:
                self._require_same_server()
                self._online()
                return
            except CollectionFailed as error:
                raise ApplyRefused(ApplyCode.INTERNAL_ERROR, str(error)) from error
            except (DatabaseUnavailable, DidNotStart) as error:
                log.error("the restore by steps failed: %s", error)
                if self.control.up():  # it runs, and gets the steps again with the next attempt: nothing to start
                    raise
        self._offline()

    def _up(self) -> bool:
        """Raises LoginRefused, once all is restored that needs no login."""
        try:
            return self.control.up()
        except LoginRefused:
            self._others(up=True)
            raise

    def _require_same_server(self) -> None:
        """Where another server answers, its settings stay, and what was written is taken out where it was written."""
        try:
            require_same_server(self.engine, self.before)
        except ApplyRefused:
            own = self._own
            if own.names and own.file is not None:
                own.file.lines(up=True)
            raise

    def _online(self) -> None:
        prevented = self._others(up=True)
        refused = bool(self._own.names) and self._own.by_steps(self.restart, self.control.may_restart)
        if prevented is not None:
            raise prevented
        wanted = refused or (self.restart and not is_restored(self.engine, self.before, self.names))
        if wanted and not self.control.progress.restarted:
            self.engine.own.activation.before_restart()
            self.control.progress.note("started")
            self.control.restart()
            self.control.progress.note("restarted")
        self._verify(just_read=True)

    def _offline(self) -> None:
        prevented = self._others(up=False)
        self.control.require_not_held()
        own = self._own
        if own.lacks_file and (own.names or not self.names):
            raise DidNotStart(NOT_OURS)
        given = own.before_the_start(self.restart, everything=not self.names)
        restarted = self._start(own) and given
        if prevented is not None:
            raise prevented
        if restarted:
            self.control.progress.note("restarted")
        if own.names and not (given and own.complete_at_start):
            own.by_steps(self.restart, may_restart=False)
        self._verify(just_read=restarted)

    def _start(self, own: SourceRestore) -> bool:
        """Whether the server came up from the restored file, where it has one."""
        file, folder = own.file, own.snapshot.data_dir
        if file is not None and self.names:
            file.lines(up=False)
        elif file is not None:
            file.whole(up=False)
        log.warning("restored the settings files; starting the server")
        if file is None:
            return self.control.start_or_wait(folder)
        try:
            return self.control.start_or_wait(folder, hangs=lambda: file.whole(up=False))
        except DidNotStart as error:
            if not self.control.progress.started or file.is_whole(up=False) or self.control.runs(folder):
                raise
            log.error("%s: restoring the whole file", error)
            file.whole(up=False)
            return self.control.start_or_wait(folder)

    def _others(self, up: bool) -> ApplyRefused | DatabaseUnavailable | None:
        """Restore the sources beside the server's own; why one could not be."""
        prevented = self._gone()
        for part in reversed(self._parts[1:]):
            try:
                part.beside_the_server(self.restart, up)
            except CollectionFailed as error:
                prevented = ApplyRefused(ApplyCode.INTERNAL_ERROR, str(error))
            except (ApplyRefused, DatabaseUnavailable) as error:
                prevented = error
        if prevented is not None:
            log.error("not all can be restored yet: %s", prevented)
        return prevented

    def _gone(self) -> ApplyRefused | DatabaseUnavailable | None:
        """What tells that settings were changed in a source that this agent does not have."""
        gone = {name: self.before[name] for name in self.before.keys() - {s.name for s in self.engine.sources}}
        left = [n for n in self.names if n in texts_in(gone)]
        if not left:
            return None
        message = f"this agent has no setting source {', '.join(sorted(gone))}, which keeps {', '.join(left)}"
        return ApplyRefused(ApplyCode.INTERNAL_ERROR, message)

    def _verify(self, just_read: bool) -> None:
        """`just_read`: the server has just been given its texts, or has read them at its start."""
        verify_restored(self.engine, self.control, self.before, self.names, self.restart, just_read)

    @property
    def _own(self) -> SourceRestore:
        return self._parts[0]

    @property
    def _parts(self) -> list[SourceRestore]:
        """One for each source that has a snapshot, the server's own first."""
        found = [(s, self.before[s.name]) for s in self.engine.sources if s.name in self.before]
        return [
            SourceRestore(self.control, s, before, [n for n in self.names if n in before.texts]) for s, before in found
        ]
