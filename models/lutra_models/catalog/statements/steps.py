"""The steps of a change: statements for the server, and lines of a file that the agent keeps for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One step of a change of `setting`: the `text` that its source executes.

    `file` and `section` name the place of a line; both are empty for a statement. `file` is the key under which the
    agent's own file names it, because its path differs between hosts.
    """

    setting: str
    text: str
    file: str = ""
    section: str = ""


@dataclass(frozen=True)
class Statement(Step):
    """A statement for the server. `wanted` is the active value that it asks for, None if the source needs none."""

    wanted: str | None = None


@dataclass(frozen=True)
class FileLine(Step):
    """A line of the agent's file, with the `value` that it gives; a `value` of None removes the setting's line."""

    value: str | None = None


@dataclass(frozen=True)
class Renderer:
    """The way in which the settings of one catalogue are changed and restored. Its functions are pure.

    `change(name, text, restart)` gives a setting the value that `text` says: at once, or with the restart that follows.
    `undo(name, text, active, restart)` makes the server's file say `text` again (nothing of the setting, where None)
    and `active` active; if a restart follows, the restart does that. `reload` is the statement that activates the
    content of a setting's file, for a server that has its own file and does not watch it.
    """

    catalogue: str
    change: Callable[[str, str, bool], tuple[Step, ...]]
    undo: Callable[[str, str | None, str, bool], tuple[Step, ...]]
    reload: str = ""
