"""A connection with a time limit for connecting, and with a limit on the size of an answer."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Any

import pymysql
from pymysql.constants import CR

from lutra_agent.engines.common.deadline import LONGEST_ANSWER, within


class Bounded(pymysql.connections.Connection):
    """A whole connect has the time limit of one wait for an answer. The caller of a statement limits its time."""

    _sock: socket.socket
    _read_timeout: float
    _taken = 0

    def limit(self) -> Any:
        """For a whole exchange. Raises TimeoutError in place of the error that results."""
        return within(self._read_timeout, self._sock.fileno())

    def connect(self, sock: Any = None) -> None:
        with ExitStack() as self._dialling:
            super().connect(sock)

    def _get_server_information(self) -> None:
        """What follows the dial itself, which has a limit of its own."""
        self._dialling.enter_context(self.limit())
        super()._get_server_information()  # type: ignore[misc]

    def _execute_command(self, command: Any, sql: Any) -> None:
        self._taken = 0
        super()._execute_command(command, sql)  # type: ignore[misc]

    def _read_bytes(self, num_bytes: int) -> bytes:
        self._taken += num_bytes
        if self._taken > LONGEST_ANSWER:
            self._force_close()  # type: ignore[attr-defined]
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, f"an answer of more than {LONGEST_ANSWER} bytes")
        return bytes(super()._read_bytes(num_bytes))  # type: ignore[misc]
