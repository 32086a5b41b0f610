"""Ports and sockets on loopback."""

from __future__ import annotations

import errno
import socket
from collections import deque
from random import SystemRandom

LOOPBACK = "127.0.0.1"
LONGEST_SOCKET = 90
"""A Unix socket's path ends at some 104 bytes; past this a server listens on TCP alone, or elsewhere."""
OFFERED = range(15_000, 32_768)
"""Below the ports that Linux (from 32768) and macOS (from 49152) give to clients: while a server restarts, no client's
connection takes its port."""
HELD = 64
TRIES = 1000

_held: deque[socket.socket] = deque()


def free_port() -> int:
    """A TCP port of loopback on which nothing listens, and that no other process gets from here meanwhile.

    A server binds its port seconds after it was chosen. Until then this process holds the UDP port of the same number,
    for the last `HELD` ports that it chose; another process that meets a held number takes another one. Raises OSError
    if a thousand ports are taken.
    """
    for port in SystemRandom().sample(OFFERED, TRIES):
        mark = _bound(socket.SOCK_DGRAM, port)
        if mark is None:
            continue
        probe = _bound(socket.SOCK_STREAM, port)
        if probe is None:
            mark.close()
            continue
        probe.close()
        _hold(mark)
        return port
    raise OSError(errno.EADDRINUSE, f"none of {TRIES} ports between {OFFERED[0]} and {OFFERED[-1]} is free")


def accepts(port: int) -> bool:
    """Whether anybody takes connections there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def _bound(kind: socket.SocketKind, port: int) -> socket.socket | None:
    """None if somebody has the port."""
    held = socket.socket(type=kind)
    try:
        held.bind((LOOPBACK, port))
    except OSError:
        held.close()
        return None
    return held


def _hold(mark: socket.socket) -> None:
    _held.append(mark)
    if len(_held) > HELD:
        _held.popleft().close()
