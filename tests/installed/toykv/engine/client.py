"""One connection to the server, dialled when it is needed and again after it broke."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import IO

from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.common.peer import Peer, peer_of
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable, LoginRefused

TIMEOUT_S = 10.0


class Refused(CollectionFailed):
    """The server's own words; `reason` is its code."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Client:
    """`asked` is how many commands of this agent the server has counted."""

    def __init__(self, database: DatabaseConfig) -> None:
        self._where = (database.host, database.port)
        self._file: IO[bytes] | None = None
        self._socket: socket.socket | None = None
        self.asked = 0

    def ask(self, command: str) -> list[str]:
        """The lines of the answer. Raises DatabaseUnavailable, and Refused for a command that the server refuses."""
        try:
            file = self._dialled()
            file.write(f"{command}\n".encode())
            file.flush()
            status, count, *message = file.readline().decode().strip().split(" ", 2)
            if status == "OK":
                self.asked += 1
                return [file.readline().decode().rstrip("\n") for _ in range(int(count))]
        except (OSError, ValueError) as error:
            self.close()
            raise DatabaseUnavailable(f"{self._where[0]}:{self._where[1]}: {error}") from error
        if count == "full":
            self.close()
            raise LoginRefused(" ".join(message))
        self.asked += 1
        raise Refused(count, " ".join(message))

    def pairs(self, command: str) -> dict[str, str]:
        """An answer of names and values."""
        return dict(line.split(" ", 1) for line in self.ask(command))

    def peer(self) -> Peer:
        """Who answers on this connection."""
        self.ask("PING")  # whoever has answered has accepted it
        return Peer() if self._socket is None else peer_of(self._socket)

    def close(self) -> None:
        for opened in (self._file, self._socket):
            if opened is not None:
                with suppress(OSError):
                    opened.close()
        self._file = self._socket = None

    def _dialled(self) -> IO[bytes]:
        if self._file is None:
            self._socket = socket.create_connection(self._where, TIMEOUT_S)
            self._file = self._socket.makefile("rwb")
        return self._file
