"""The account, the process and the socket of this host that answer on a connection, according to the kernel and not to
the server.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOCAL, REMOTE, STATE, UID, INODE = 1, 2, 3, 7, 9
ESTABLISHED = "01"
CREDENTIALS = struct.Struct("iii")
OF_ANOTHER_NAMESPACE = 0


@dataclass(frozen=True)
class Peer:
    """The other side of a connection; None for facts that the kernel does not show, for example about another host.

    `process` is the process that made the socket's file, and OF_ANOTHER_NAMESPACE if that process has no number here.
    `inode` is the other side's end of a TCP connection.
    """

    account: int | None = None
    process: int | None = None
    inode: int | None = None


def peer_of(connected: socket.socket) -> Peer:
    """TCP sockets are identified only by their ports, and a port of several accounts belongs to none of them."""
    if connected.family == socket.AF_UNIX:
        credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        process, account, _ = CREDENTIALS.unpack(credentials)
        return Peer(account, process)
    theirs, ours = connected.getpeername()[1], connected.getsockname()[1]
    found = {end for table in TABLES for end in _ends(table, f"{theirs:04X}", f"{ours:04X}")}
    accounts, inodes = {account for account, _ in found}, {inode for _, inode in found}
    return Peer(
        accounts.pop() if len(accounts) == 1 else None,
        inode=inodes.pop() if len(inodes) == 1 else None,
    )


def _ends(table: Path, local: str, remote: str) -> Iterator[tuple[int, int]]:
    """Of a socket that nobody has accepted yet, or that is closed, the kernel says 0: such a one has not answered."""
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:
        return
    for words in map(str.split, lines):
        ports = (words[LOCAL].rpartition(":")[2], words[REMOTE].rpartition(":")[2])
        if ports == (local, remote) and words[STATE] == ESTABLISHED:
            yield int(words[UID]), int(words[INODE])
