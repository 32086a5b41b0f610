"""The source of a server's memory: the library that it has loaded, the possible replacements, and the drop-in of its
unit that selects one.

    [Service]
    Environment=LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from lutra_agent.files.accounts import is_kept_by
from lutra_agent.files.atomic import read_json, read_regular, write_json
from lutra_agent.linux import lasting, units
from lutra_agent.linux.kernel import ALLOCATOR, SYSTEM, KernelSetting, Refused
from lutra_agent.linux.lasting import HEADER, LONGEST
from lutra_agent.linux.owners import preloads
from lutra_agent.linux.places import Places

KNOWN = ("jemalloc", "tcmalloc", "mimalloc")
OWN = "its own"
"""The allocator of the program or of its C library: it was not replaced."""
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
FOLDERS = ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64")
"""The folders of Debian and its derivatives on two kinds of processor, and of Red Hat's systems on both."""


def loaded(root: Path, pid: int | None) -> str | None:
    """The library from which the process `pid` takes its memory, according to its mapped files; None if they are not
    visible.
    """
    try:
        mapped = "" if pid is None else (root / f"proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return None
    if not mapped:
        return None
    # A library whose package was upgraded since is "(deleted)", and loaded all the same.
    names = {line.removesuffix(" (deleted)").rpartition("/")[2] for line in mapped.splitlines()}
    return next((a for a in KNOWN if any(n.startswith(f"lib{a}") for n in names)), OWN)


def library(places: Places, value: str) -> str:
    """The path of the allocator's library. Raises Refused if it is not installed, or if accounts other than root can
    change it.
    """
    machine = os.uname().machine
    for folder in (f for f in FOLDERS if machine in f or f == FOLDERS[-1]):
        file = places.system / folder / LIBRARIES[value]
        try:
            real = file.resolve(strict=True)
            kept = is_kept_by(places.owner, real, places.system)
        except OSError:
            continue
        if kept and real.is_file() and real.parent == places.system.resolve() / folder:
            return f"/{folder}/{file.name}"
    raise Refused(f"{LIBRARIES[value]} is not installed in a folder of root's")


def installed(places: Places) -> tuple[str, ...]:
    found = []
    for value in LIBRARIES:
        try:
            library(places, value)
        except Refused:
            continue
        found.append(value)
    return tuple(found)


def drop_in(path: str) -> bytes:
    """The content that preloads the library `path`."""
    return f"{HEADER}[Service]\nEnvironment=LD_PRELOAD={path}\n".encode()


def preloaded(file: Path) -> str | None:
    """The allocator of a unit's drop-in; None if the file does not exist. Raises OSError, for a link as well, and
    Refused.
    """
    try:
        content, _ = read_regular(file, LONGEST)
    except (FileNotFoundError, NotADirectoryError):
        return None
    for value, name in LIBRARIES.items():
        if any(content == drop_in(f"/{folder}/{name}") for folder in FOLDERS):
            return value
    raise Refused(f"{file}: somebody else has edited it")


class Preload:
    """The drop-in of the named unit. The name of the unit is stored first, because the administrator may name another
    one, or none, before it is removed again.
    """

    def __init__(self, places: Places, memory: Memory) -> None:
        self._places = places
        self._memory = memory

    def state(self) -> str:
        """`writable`, or the reason for the refusal."""
        try:
            self._file()
        except (Refused, OSError) as error:
            return str(error)
        return "writable" if installed(self._places) else "none of the libraries is installed"

    def last(self, value: str) -> None:
        """Raises Refused and OSError."""
        if value == SYSTEM:
            self._remove()
            return
        unit, file = self._file()
        content = drop_in(library(self._places, value))
        self._memory.keep(ALLOCATOR, unit)
        lasting.remove_unfinished(file)
        lasting.write(file, content)

    def _file(self) -> tuple[str, Path]:
        """The named unit, and its drop-in. Raises Refused if that is not Lutra's to write, and OSError."""
        unit, before = units.named(self._places), self._unit()
        file = self._places.drop_in(unit)
        if before not in (None, unit) and (left := self._places.drop_in(before)).exists():
            raise Refused(f"{left} belongs to Lutra, but to a different unit than {self._places.unit} names")
        if owner := preloads(self._places.system, unit, file):
            raise Refused(f"{owner} sets LD_PRELOAD")
        preloaded(file)
        folder = file.parent if file.parent.exists() else file.parent.parent
        if not is_kept_by(self._places.owner, folder, self._places.system):
            raise Refused(f"{folder}: accounts other than root can change it")
        return unit, file

    def _remove(self) -> None:
        try:
            unit = self._unit() or units.named(self._places)
        except Refused:  # none ever got one
            return
        file = self._places.drop_in(unit)
        if preloaded(file) is not None:
            lasting.write(file, b"")
        with suppress(OSError):  # it holds drop-ins of others, or is gone
            file.parent.rmdir()
        self._memory.drop(ALLOCATOR)

    def _unit(self) -> str | None:
        found = self._memory.text(ALLOCATOR)
        return found if units.NAME.fullmatch(found) else None


class Memory:
    """Texts by key: values that the kernel loses when one of its settings changes, and the unit with a drop-in."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, setting: KernelSetting, key: str = "") -> str | None:
        """The setting's earlier value; None if no valid one is stored."""
        text = self.text(key or setting.name)
        try:
            setting.check(text)
        except Refused:
            return None
        return text

    def text(self, key: str) -> str:
        """Empty if nothing is stored."""
        found = self._all().get(key)
        return found if isinstance(found, str) else ""

    def keep(self, key: str, value: str) -> None:
        write_json(self._file, {**self._all(), key: value})

    def drop(self, key: str) -> None:
        before = self._all()
        left = {k: v for k, v in before.items() if k != key}
        if left and left != before:
            write_json(self._file, left)
        elif not left:
            self._file.unlink(missing_ok=True)

    def _all(self) -> dict[str, Any]:
        found = read_json(self._file)
        return found if isinstance(found, dict) else {}
