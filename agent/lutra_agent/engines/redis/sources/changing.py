"""Executes a change: CONFIG SET for what is live, and lines of the server's own file for values that outlast a
restart.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from lutra_models.catalog.statements import FileLine, Statement, Step
from lutra_models.errors import ApplyCode

from lutra_agent.engines.redis.server.connect import NotPermitted
from lutra_agent.engines.redis.server.session import Session
from lutra_agent.engines.redis.sources.conf import Format, same
from lutra_agent.errors import ApplyRefused, CollectionFailed
from lutra_agent.files.accounts import acting_for, owner_of
from lutra_agent.files.atomic import overwrite, pinned, read_regular, write_atomically

MARGIN = 1.1
LOG = "appendonly"
LOG_S = 600.0
"""The time for the first append-only file, which is as large as the data."""
POLL_S = 0.1
TAKEN_ALL_THE_SAME = "Unsupport option member"
"""pika's engine has taken the value, and the server then failed to give it to a part that does not know it."""


class Changing:
    """Statements come first, all of them at once if the server accepts several; then the file, in one step."""

    def __init__(self, session: Session, form: Format) -> None:
        self._session = session
        self._form = form

    def execute(self, steps: Sequence[Step]) -> None:
        """Raises ApplyRefused for the first that the server refuses or changes."""
        statements = [s for s in steps if isinstance(s, Statement)]
        # Of several for one setting, as of an undo of an undo, the last counts.
        values = {s.setting: shlex.split(s.text)[3] for s in statements}
        self._require_room({s.setting: values[s.setting] for s in statements if s.wanted is not None})
        begins_log = values.get(LOG) == "yes" and self._session.connection.pairs("CONFIG", "GET", LOG).get(LOG) == "no"
        if self._session.several:
            self._set(values)
        else:
            for name, value in values.items():
                self._set_one(name, value, any(s.setting == name and s.wanted is not None for s in statements))
        if begins_log:
            self._await_log()
        self._write({s.setting: s.value for s in steps if isinstance(s, FileLine)})

    def _set(self, values: Mapping[str, str]) -> None:
        if not values:
            return
        try:
            self._session.connection.ask("CONFIG", "SET", *(word for pair in values.items() for word in pair))
        except CollectionFailed as error:
            raise ApplyRefused(_code(error), f"{', '.join(values)}: {error}") from error

    def _set_one(self, name: str, value: str, new: bool) -> None:
        """And read it back. Raises ApplyRefused."""
        connection = self._session.connection
        try:
            connection.ask("CONFIG", "SET", name, value)
        except CollectionFailed as error:
            if TAKEN_ALL_THE_SAME not in str(error) or new:
                raise ApplyRefused(_code(error), f"{name}: {error}") from error
            # An undo: what the server still tells is the old value, and its engine has that again.
        active = connection.pairs("CONFIG", "GET", name).get(name)
        if active is None or not same(active, value):
            raise ApplyRefused(
                ApplyCode.NOT_ACTIVE_AFTER_APPLY, f"{name}: the server said OK to {value} and tells {active}"
            )

    def _await_log(self) -> None:
        """Until the append-only file holds all data: a restart before that would find a part. Raises ApplyRefused."""
        deadline = time.monotonic() + LOG_S
        while True:
            state = self._session.info("persistence")
            if "1" not in (state.get("aof_rewrite_in_progress"), state.get("aof_rewrite_scheduled")):
                break
            if time.monotonic() > deadline:
                raise ApplyRefused(
                    ApplyCode.INTERNAL_ERROR, f"{LOG}: the file does not contain all data after {LOG_S:g} s"
                )
            time.sleep(POLL_S)
        if state.get("aof_last_bgrewrite_status", "ok") != "ok":
            raise ApplyRefused(ApplyCode.INTERNAL_ERROR, f"{LOG}: the server cannot write the file: see its log")

    def _require_room(self, values: Mapping[str, str]) -> None:
        """A new memory limit below what is in use evicts data at once, or fails writes. Raises ApplyRefused."""
        wanted = values.get("maxmemory", "0")
        if wanted == "0" or self._session.product.several_since is None:
            return
        used = float(self._session.info("memory").get("used_memory", 0))
        before = self._session.connection.pairs("CONFIG", "GET", "maxmemory").get("maxmemory", "0")
        if float(wanted) < MARGIN * used and not 0 < float(before) <= float(wanted):
            message = (
                f"maxmemory: {wanted} is below {MARGIN * used:.0f}, a tenth above the memory "
                "in use: data would be evicted"
            )
            raise ApplyRefused(ApplyCode.INVALID_VALUE, message)

    def _write(self, texts: Mapping[str, str | None]) -> None:
        details = self._session.details()
        if not texts or not details.keeps_file:
            return
        file = details.config_file
        if file is None:
            raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, "this host does not have the server's file")
        try:
            # Whoever owns a folder may put another one, or a link, into its place meanwhile.
            with pinned(file) as place, _rights(place):
                self._replace(place, texts)
        except (OSError, ValueError) as error:
            raise ApplyRefused(
                ApplyCode.INTERNAL_ERROR, f"{file}: {getattr(error, 'strerror', None) or error}"
            ) from error

    def _replace(self, file: Path, texts: Mapping[str, str | None]) -> None:
        """Raises OSError, ValueError and ApplyRefused."""
        content, status = read_regular(file)
        if objection := self._session.objection(status.st_uid):
            raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, objection)
        new = self._form.rewritten(content, texts)
        if new == content:
            return
        mode, owner = status.st_mode & 0o777, (status.st_uid, status.st_gid)
        try:
            write_atomically(file, new, mode, owner)
        except PermissionError:
            overwrite(file, new)  # another account's file that is ours to write: only root may make one for it


def _rights(file: Path) -> AbstractContextManager[None]:
    """Those of the folder's owner where the file is theirs too: root's own file in such a folder is root's to write."""
    return acting_for(file.parent) if file.lstat().st_uid == owner_of(file.parent)[0] else nullcontext()


def _code(error: CollectionFailed) -> ApplyCode:
    return ApplyCode.INSUFFICIENT_PRIVILEGE if isinstance(error, NotPermitted) else ApplyCode.INVALID_VALUE
