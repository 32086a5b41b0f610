"""The agent's own option file of a server that keeps no settings by itself: one line per setting, nothing else.

    loose_sort_buffer_size = 4194304 # 1795252310.531

`loose_`: a version or a plugin that lacks the variable must not keep the server from starting. The number says when the
line was written, so that a value which waits for a restart is told from one that the server has rounded.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lutra_agent.files import overwrite, write_atomically

HEADER = "# Written by lutra-agent. Change settings here only while the agent is paused.\n[mariadbd]\n"
MODE = 0o644
"""The server ignores a file that everybody may write, and its account must be able to read it."""

_LINE = re.compile(
    r"""\s*(?:loose[-_])?(?P<name>[A-Za-z][\w-]*)\s*=\s*(?:"(?P<quoted>[^"]*)"|(?P<bare>[^#]*?))"""
    r"""\s*(?:\#\s*(?P<written>\d+(?:\.\d+)?)?.*)?"""
)


@dataclass(frozen=True)
class Entry:
    value: str
    written_s: float | None


def entries(text: str) -> dict[str, Entry]:
    """Setting → its last line."""
    return {name: entry for _, name, entry in _lines(text) if name and entry}


def read(file: Path | None) -> dict[str, Entry]:
    """Empty where there is no such file. Raises OSError where this account may not read it."""
    if file is None:
        return {}
    try:
        return entries(file.read_text())
    except FileNotFoundError:
        return {}


def write(file: Path | None, name: str, value: str | None, now_s: float) -> None:
    """Put a line in, or take it out (None); a file that says so already is left alone. Raises OSError."""
    if file is None:
        raise OSError("database.include_file is not configured")
    try:
        text, status = file.read_text(), file.stat()
        mode, owner = status.st_mode & 0o7777, (status.st_uid, status.st_gid)
    except FileNotFoundError:
        text, mode, owner = HEADER, MODE, None
    known = entries(text).get(name)
    if (known and known.value) == value:
        return
    kept = [line for line, theirs, _ in _lines(text) if theirs != name]
    if value is not None:
        quoted = f'"{value}"' if re.search(r"[\s#\"';,]", value) else value
        kept.append(f"loose_{name} = {quoted} # {now_s:.3f}")
    content = ("\n".join(kept) + "\n").encode()
    try:
        write_atomically(file, content, mode, owner)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        overwrite(file, content)  # another account's file that is ours to write: only root may make one for it


def _lines(text: str) -> Iterator[tuple[str, str | None, Entry | None]]:
    for line in text.splitlines():
        found = None if line.lstrip().startswith(("#", ";", "[", "!")) else _LINE.fullmatch(line)
        if found is None:
            yield line, None, None
            continue
        value = found["bare"] if found["quoted"] is None else found["quoted"]
        written = float(found["written"]) if found["written"] else None
        yield line, found["name"].replace("-", "_").lower(), Entry(value, written)
