"""Ports and sockets on loopback."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"
LONGEST_SOCKET = 90
"""A Unix socket's path ends at some 104 bytes; past this a server listens on TCP alone, or elsewhere."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    """Whether anybody takes connections there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0
