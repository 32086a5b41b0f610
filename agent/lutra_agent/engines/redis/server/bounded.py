"""Reads the protocol's second version as the package does, with a limit on the size of an answer."""

from __future__ import annotations

from typing import Any

from lutra_agent.engines.common.deadline import LONGEST_ANSWER
from lutra_agent.engines.redis.server.library import without_its_package

with without_its_package("redis"):
    from redis._parsers.resp2 import _RESP2Parser
    from redis._parsers.socket import SocketBuffer
    from redis.exceptions import ConnectionError as Broken


class _Buffer(SocketBuffer):
    """Holds one answer at a time, from its begin."""

    def _read_from_socket(self, length: int | None = None, *rest: Any, **more: Any) -> bool:
        with self._buffer.getbuffer() as held:
            size = held.nbytes + (length or 0)
        if size > LONGEST_ANSWER:
            raise Broken(f"an answer of more than {LONGEST_ANSWER} bytes")
        return bool(super()._read_from_socket(length, *rest, **more))


class Bounded(_RESP2Parser):
    def on_connect(self, connection: Any) -> None:
        super().on_connect(connection)  # type: ignore[no-untyped-call]
        self._buffer = _Buffer(connection._sock, self.socket_read_size, connection.socket_timeout)
