"""A setting source: a place that keeps settings, how they are read, changed and restored there.

A server keeps its own settings, so every engine has a source for them. Settings that live elsewhere and matter to the
same database, such as those of the host's operating system, are a further source of the same engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from lutra_models.catalog import Change
from lutra_models.catalog.statements import Step
from lutra_models.server import ServerSetting

Scope = Literal["server", "host"]


@dataclass(frozen=True)
class Permissions:
    """Which settings the agent's account may change, and the statements that would let it change the others."""

    changeable: frozenset[str]
    may_reload: bool
    remedies: tuple[str, ...] = ()
    explanation: str = ""


class SettingSource(Protocol):
    """One place that keeps settings.

    `name` is SERVER for the server's own settings, and otherwise the source that `catalogue` names. No two sources of
    an engine have the same name, and no setting is in the catalogues of two. A change of a source whose `scope` is
    "host" concerns everything that runs on the host.

    A source that `rounds` answers a number that it cannot take with one that it can: what it then reports is its
    answer, not a failure. One that `keeps_file` keeps its settings in a file of this host, which an undo restores byte
    by byte; one that does not is undone by its steps alone. Where it `reads_file_at_start_alone`, a restored file
    becomes active with a restart. The settings `held_while_down` say where the data are: what the file of a server that
    is down says of them is left to it, or it would start from other data.

    The steps of `plan` and `undo` are those that the catalogue's renderer gives, so that people are shown what
    `execute` carries out.

    Methods that ask a server raise DatabaseUnavailable where it cannot be reached; a source beside the server's own
    needs none, if it can help it: it is undone while the server is down. `plan`, `undo` and those that work
    on a file's content are pure, except that the former two may ask the server what needs a restart.
    """

    name: str
    catalogue: str
    scope: Scope
    rounds: bool
    keeps_file: bool
    reads_file_at_start_alone: bool
    held_while_down: frozenset[str]

    def read(self) -> Mapping[str, ServerSetting]:
        """The catalogue's settings as they are now, and no other setting."""
        ...

    def permissions(self, names: Iterable[str]) -> Permissions: ...

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        """The steps of one change: in the settings file, and active.

        Where a `restart` of the server comes, what that makes active is left to it.
        """
        ...

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        """The steps that restore `text` in the settings file (with None, remove the setting), and make `active` active.

        Where a `restart` of the server comes, what that makes active is left to it.
        """
        ...

    def execute(self, steps: Sequence[Step]) -> None:
        """Carry out steps of this source in order. Raises ApplyRefused for the first that is refused."""
        ...

    def reload(self) -> None:
        """Make what `execute` did active, and wait where that takes a while.

        Raises ApplyRefused if that fails, or takes too long.
        """
        ...

    def before_restart(self) -> None:
        """Raises ApplyRefused if a restart of the server would lose data."""
        ...

    def settings_file(self) -> Path | None:
        """The file which `execute` changes; None if the agent's account may not know it, or there is none."""
        ...

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        """The same file of a server that is down: by the agent's own file, or in the folder of the server's data."""
        ...

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        """A settings file's content with these texts in it, nothing of a setting where None, and all else as it was.

        Raises ValueError for content that is not the source's.
        """
        ...

    def file_says(self, content: bytes) -> Mapping[str, str]:
        """Setting → text in a settings file of this content."""
        ...
