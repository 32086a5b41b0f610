"""Files of Lutra's own that make values last: one in /etc/sysctl.d, and one for settings outside sysctl.

    vm.swappiness = 10
    data_disk.scheduler @ serial:S3X9 = none

A file's content depends only on its values, so that a removed value leaves it byte by byte as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lutra_agent.files.atomic import read_regular, remove, write_atomically
from lutra_agent.linux.disks import STABLE
from lutra_agent.linux.kernel import SETTINGS, Refused

Place = tuple[str, str]
"""A setting's name, and the disk's id for a setting of a disk; otherwise empty."""

HEADER = "# Written by lutra-host. Lutra changed these settings, and removes the lines when the change is undone.\n"
LONGEST = 1 << 16
READABLE = 0o644


def rendered(values: Mapping[Place, str]) -> bytes:
    """Empty without values. Raises Refused for more than could be read again."""
    lines = (f"{name}{f' @ {disk}' if disk else ''} = {value}\n" for (name, disk), value in sorted(values.items()))
    content = (HEADER + "".join(lines)).encode() if values else b""
    if len(content) > LONGEST:
        raise Refused(f"more than {LONGEST} bytes of values would be persistent")
    return content


def parsed(content: bytes) -> dict[Place, str]:
    """Raises Refused for a file with any other content."""
    values: dict[Place, str] = {}
    for line in content.decode(errors="replace").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        left, equals, value = line.partition(" = ")
        name, _, disk = left.partition(" @ ")
        setting = SETTINGS.get(name)
        known = setting is not None and not setting.of_server and setting.of_disk == bool(STABLE.fullmatch(disk))
        if not equals or setting is None or not known or (name, disk) in values:
            raise Refused(f"a line is not one of Lutra's: {line[:80]!r}")
        setting.check(value)
        values[name, disk] = value
    if rendered(values) != content:
        raise Refused("somebody else has edited it")
    return values


def read(file: Path) -> dict[Place, str]:
    """Empty without a file. Raises OSError, for a link as well, and Refused."""
    try:
        content, _ = read_regular(file, LONGEST)
    except FileNotFoundError:
        return {}
    try:
        return parsed(content)
    except Refused as error:
        raise Refused(f"{file}: {error}") from error


def remove_unfinished(file: Path) -> None:
    """Remove the file of a process that was killed before its rename. Raises OSError."""
    for unfinished in file.parent.glob(f".{file.name}.*"):
        unfinished.unlink(missing_ok=True)


def write(file: Path, content: bytes) -> None:
    """Written in one step and flushed to the disk, in a folder that all may read; no file if it is empty. Raises
    OSError.
    """
    if not content:
        remove(file)
        return
    if not file.parent.exists():
        file.parent.mkdir(mode=0o755, parents=True)
        file.parent.chmod(0o755)
    write_atomically(file, content, READABLE)
