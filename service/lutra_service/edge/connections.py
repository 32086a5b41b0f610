"""The maximum number of connections, and the choice of the one to close if one more arrives."""

from __future__ import annotations

from collections import Counter
from typing import Protocol


class Connection(Protocol):
    def abort(self) -> None: ...


class Connections:
    """Strangers are connections on which no valid token was shown yet: the oldest of them makes room for a new one.

    If every connection has shown a valid token, the new one itself is closed.
    """

    def __init__(self, most: int, per_address: int) -> None:
        self._most = most
        self._per_address = per_address
        self._address: dict[Connection, str] = {}
        self._strangers: dict[Connection, None] = {}  # oldest first, as in each set below
        self._strangers_of: dict[str, dict[Connection, None]] = {}
        self._open: Counter[str] = Counter()

    def opened(self, connection: Connection, address: str) -> None:
        self._address[connection] = address
        self._strangers[connection] = None
        self._strangers_of.setdefault(address, {})[connection] = None
        self._open[address] += 1
        if self._open[address] > self._per_address:
            self._close(next(iter(self._strangers_of[address])))
        elif len(self._address) > self._most:
            self._close(next(iter(self._strangers)))

    def welcome(self, connection: Connection) -> None:
        """The connection showed a valid token."""
        if connection in self._strangers:
            self._no_stranger(connection)

    def closed(self, connection: Connection) -> None:
        """Idempotent."""
        if connection not in self._address:
            return
        self.welcome(connection)
        address = self._address.pop(connection)
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]

    def __len__(self) -> int:
        return len(self._address)

    @property
    def strangers(self) -> int:
        return len(self._strangers)

    def _close(self, connection: Connection) -> None:
        self.closed(connection)
        connection.abort()

    def _no_stranger(self, connection: Connection) -> None:
        address = self._address[connection]
        del self._strangers[connection]
        del self._strangers_of[address][connection]
        if not self._strangers_of[address]:
            del self._strangers_of[address]
