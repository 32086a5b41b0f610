"""The agent's own option file of a server that keeps no settings by itself: one line per setting.

    loose_sort_buffer_size = 4194304 # 1795252310.531

The line is the step of a change. Its number is the time of writing, which distinguishes a value that waits for a
restart from one that the server has rounded.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lutra_models.catalog.statements import FileLine, mariadb

from lutra_agent.files.atomic import overwrite, write_atomically

SECTION = f"[{mariadb.SECTION}]"
HEADER = f"# Written by lutra-agent. Change settings here only while the agent is paused.\n{SECTION}\n"
SERVERS_OWN = frozenset({"server", "mysqld", "mariadb", "mariadbd"})
"""Sections that every MariaDB server reads. Lines of another section do not apply to it, or only to some versions."""
MODE = 0o644
"""The server ignores a file that everybody may write, and its account must be able to read it."""

_LINE = re.compile(
    r"""(?:loose[-_])?(?P<name>[A-Za-z][\w-]*)\s*=\s*(?:"(?P<quoted>[^"]*)"\s*|(?P<bare>[^#]*))"""
    r"""(?:\#\s*(?P<written>\d+(?:\.\d+)?)?.*)?""",
    re.DOTALL,
)
"""Matches a line without spaces at its ends; each character is examined a few times, however long the line is."""


@dataclass(frozen=True)
class Entry:
    value: str
    written_s: float | None


def entries(text: str) -> dict[str, Entry]:
    """Setting → its last line in a section that the server reads."""
    return {name: entry for _, name, entry in _lines(text) if name and entry}


def read(file: Path | None) -> dict[str, Entry]:
    """Empty if there is no such file. Raises OSError if this account may not read it."""
    if file is None:
        return {}
    try:
        return entries(file.read_text(errors="replace"))
    except FileNotFoundError:
        return {}


def others(text: str) -> str:
    """The reason why the file is not the agent's own, in words; empty if there is none."""
    sections = [f"[{name}]" for name in map(_section, text.splitlines()) if name and name not in SERVERS_OWN]
    read_too = [line.strip() for line in text.splitlines() if line.lstrip().startswith("!")]
    found = ", ".join(dict.fromkeys([*sections, *read_too]))
    return f"it contains {found}: give the agent a separate file that contains only server settings" if found else ""


def write(file: Path | None, line: FileLine, now_s: float) -> None:
    """Add a line, or remove it; a file that is already right stays unchanged. Raises OSError."""
    if file is None:
        raise OSError("database.include_file is not configured")
    try:
        text, status = file.read_text(errors="surrogateescape"), file.stat()
        mode, owner = status.st_mode & 0o777, (status.st_uid, status.st_gid)
    except FileNotFoundError:
        text, mode, owner = HEADER, MODE, None
    if problem := others(text):
        raise OSError(errno.EINVAL, problem)
    known = entries(text).get(line.setting)
    if (known and known.value) == line.value:
        return
    content = _with_lines(text, [line], now_s).encode(errors="surrogateescape")
    try:
        write_atomically(file, content, mode, owner)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        overwrite(file, content)  # another account's file that is ours to write: only root may make one for it


def rewritten(text: str, texts: Mapping[str, str | None], now_s: float) -> str:
    """The file with these values, their lines last in a section that the server reads, and everything else unchanged.

    Raises OSError for a value that no line can hold.
    """
    return _with_lines(text, [mariadb.line(name, value) for name, value in texts.items()], now_s)


def _with_lines(text: str, lines: Sequence[FileLine], now_s: float) -> str:
    names = {line.setting for line in lines}
    kept = [line for line, theirs, _ in _lines(text) if theirs not in names]
    last = next((s for line in reversed(kept) if (s := _section(line))), None)
    added = [_stamped(line, line.value, now_s) for line in lines if line.value is not None]
    if added and last not in SERVERS_OWN:
        kept.append(SECTION)
    return "\n".join([*kept, *added]) + "\n"


def _stamped(line: FileLine, value: str, now_s: float) -> str:
    if not mariadb.fits_a_line(value):
        raise OSError(errno.EINVAL, f"{line.setting}: no line of an option file contains {value!r}")
    return f"{line.text} # {now_s:.3f}"


def _lines(text: str) -> Iterator[tuple[str, str | None, Entry | None]]:
    """Each line, with the setting and its entry where the server reads one there."""
    section = None
    for line in text.splitlines():
        section = _section(line) or section
        comment = line.lstrip().startswith(("#", ";", "[", "!"))
        found = _LINE.fullmatch(line.strip()) if section in SERVERS_OWN and not comment else None
        if found is None:
            yield line, None, None
            continue
        value = found["bare"].rstrip() if found["quoted"] is None else found["quoted"]
        written = float(found["written"]) if found["written"] else None
        yield line, found["name"].replace("-", "_").lower(), Entry(value, written)


def _section(line: str) -> str | None:
    found = re.match(r"\[([^\]]*)\]", line.strip())
    return found[1].strip().lower() if found else None
