"""The place of a server's socket; separate from the code that connects, so that a load generator can use it too."""

from __future__ import annotations

from pathlib import Path

SOCKETS = ("mysqld.sock", "mysql.sock")


def socket_of(host: str) -> Path:
    """The socket itself, or the one in a folder."""
    path = Path(host)
    return next((path / name for name in SOCKETS if (path / name).exists()), path)
