"""Which account of this host answers on a connection: the kernel's word, not the server's."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOCAL, REMOTE, STATE, UID = 1, 2, 3, 7
ESTABLISHED = "01"
CREDENTIALS = struct.Struct("iii")


def account_behind(connected: socket.socket) -> int | None:
    """The user id of the other side; None where the kernel does not show it, as of another host.

    Over TCP sockets are told by their ports alone, and one that stands for several accounts is nobody's.
    """
    if connected.family == socket.AF_UNIX:
        told = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        return int(CREDENTIALS.unpack(told)[1])
    theirs, ours = connected.getpeername()[1], connected.getsockname()[1]
    found = {uid for table in TABLES for uid in _owners(table, f"{theirs:04X}", f"{ours:04X}")}
    return found.pop() if len(found) == 1 else None


def _owners(table: Path, local: str, remote: str) -> Iterator[int]:
    """Of a socket that nobody has accepted yet, or that is closed, the kernel says 0: such a one has not answered."""
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:
        return
    for words in map(str.split, lines):
        ports = (words[LOCAL].rpartition(":")[2], words[REMOTE].rpartition(":")[2])
        if ports == (local, remote) and words[STATE] == ESTABLISHED:
            yield int(words[UID])
