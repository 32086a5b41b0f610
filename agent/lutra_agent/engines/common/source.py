"""A setting source: a place that keeps settings, with the means to read, change and restore them.

A server keeps its own settings, so every engine has a source for them. Settings that live elsewhere and matter to the
same database, such as those of the host's operating system, are a further source of the same engine.

Every source is a SettingSource. Some sources have further capabilities: a Backing, if a file of this host keeps the
settings, and an Activation, if a new value needs more than its step to become active.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

from lutra_models.catalog import Change, load
from lutra_models.catalog.statements import Step
from lutra_models.server import ServerSetting

from lutra_agent.files.saved_file import SavedFile, save_file

Scope = Literal["server", "host"]


@dataclass(frozen=True)
class Permissions:
    """The settings that the agent's account may change, and the statements that would let it change the others."""

    changeable: frozenset[str]
    may_reload: bool
    remedies: tuple[str, ...] = ()
    explanation: str = ""


class Backing(ABC):
    """The file of this host in which a source keeps its settings: an undo restores it byte by byte.

    With `read_at_start_alone`, a restored file becomes active with a restart of the server. The settings
    `held_while_down` name the location of the data: in the file of a server that is down they are left unchanged, or it
    would start from other data. `rewritten` and `says` are pure.
    """

    read_at_start_alone: bool = False
    held_while_down: frozenset[str] = frozenset()

    @abstractmethod
    def settings_file(self) -> Path | None:
        """The file which `execute` changes; None if the agent's account may not know it, or there is none.

        Raises DatabaseUnavailable if only the server names it.
        """

    @abstractmethod
    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        """The same file of a server that is down, from the agent's own file or in the server's data folder."""

    @abstractmethod
    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        """The file's content with these texts (None removes a setting), and everything else unchanged.

        Raises ValueError for content that is not the source's.
        """

    @abstractmethod
    def says(self, content: bytes) -> Mapping[str, str]:
        """Setting → text in a file of this content."""

    def save(self) -> SavedFile | None:
        """The file as it is now; None if this account may not read it and write it back."""
        return save_file(self.settings_file())


class Activation:
    """How the values that `execute` has given become active. By default each is active with its step.

    A value that is not active `settle_s` seconds after its activation counts as refused. A source that `rounds` answers
    a number that it cannot take with one that it can: what it then reports is its answer, not a failure.
    """

    rounds: bool = False
    settle_s: float = 5.0

    def reload(self) -> None:
        """Make what `execute` did active. Raises ApplyRefused if that fails, and DatabaseUnavailable."""

    def settled(self) -> bool:
        """Whether all that `execute` did is active, or waits only for a restart of the server.

        A source whose values become active later is False until then: nothing restarts the server, and nothing counts
        as applied or restored, while a value may still change by itself.
        """
        return True

    def before_restart(self) -> None:
        """Raises ApplyRefused if a restart of the server would lose data."""


class SettingSource(Protocol):
    """One place that keeps settings.

    `name` is SERVER for the server's own settings, and otherwise the source that `catalogue` names. No two sources of
    an engine have the same name, and no setting is in the catalogues of two. A change of a source whose `scope` is
    "host" affects everything that runs on the host. A source without a `backing` is undone by its steps alone.

    The steps of `plan` and `undo` are those that the catalogue's renderer gives, so that people are shown what
    `execute` carries out.

    Methods that ask a server raise DatabaseUnavailable if it cannot be reached; a source that needs no server is undone
    while it is down. `plan` and `undo` are pure, except that they may ask the server what needs a restart.
    """

    name: str
    catalogue: str
    scope: Scope

    @property
    def backing(self) -> Backing | None: ...

    @property
    def activation(self) -> Activation: ...

    def read(self) -> Mapping[str, ServerSetting]:
        """The catalogue's settings as they are now, and no other setting."""
        ...

    def permissions(self, names: Iterable[str]) -> Permissions: ...

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        """The steps of one change: in the settings file, and active.

        If a `restart` of the server follows, it activates the values.
        """
        ...

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        """The steps that restore `text` in the settings file (with None, remove the setting), and make `active` active.

        If a `restart` of the server follows, it activates the values.
        """
        ...

    def execute(self, steps: Sequence[Step]) -> None:
        """Carry out steps of this source in order. Raises ApplyRefused for the first that is refused."""
        ...


def read_settings(sources: Iterable[SettingSource]) -> dict[str, ServerSetting]:
    """The settings of all sources. Raises ValueError if two of them report the same setting."""
    found: dict[str, ServerSetting] = {}
    for source in sources:
        settings = source.read()
        if twice := sorted(found.keys() & settings.keys()):
            raise ValueError(f"{source.name!r} and a source before it both report {', '.join(twice)}")
        found |= settings
    return found


def source_of(sources: Sequence[SettingSource], name: str) -> SettingSource:
    """The source that keeps a setting. Raises ValueError for a setting of no source's catalogue."""
    found = next((s for s in sources if name in _names(s.catalogue)), None)
    if found is None:
        raise ValueError(f"{name!r} is a setting of none of these sources: {', '.join(s.name for s in sources)}")
    return found


def by_source(sources: Sequence[SettingSource], names: Iterable[str]) -> list[tuple[SettingSource, list[str]]]:
    """Each source that keeps some of the settings, with those, both in the order given. Raises ValueError."""
    kept: dict[str, list[str]] = {s.name: [] for s in sources}
    for name in names:
        kept[source_of(sources, name).name].append(name)
    return [(s, kept[s.name]) for s in sources if kept[s.name]]


def permissions(kept: Iterable[tuple[SettingSource, Sequence[str]]]) -> Permissions:
    """The rights of the agent's account on these settings of each source."""
    asked = [source.permissions(names) for source, names in kept]
    return Permissions(
        frozenset[str]().union(*(p.changeable for p in asked)),
        all(p.may_reload for p in asked),
        tuple(dict.fromkeys(r for p in asked for r in p.remedies)),
        " ".join(dict.fromkeys(p.explanation for p in asked if p.explanation)),
    )


def lacks_copy(sources: Iterable[SettingSource]) -> bool:
    """Whether a file that keeps settings could not be restored: this account may not read it and write it back."""
    return any(s.backing is not None and s.backing.save() is None for s in sources)


@lru_cache(maxsize=16)
def _names(catalogue: str) -> frozenset[str]:
    return frozenset(r.name for r in load(catalogue).rows)
