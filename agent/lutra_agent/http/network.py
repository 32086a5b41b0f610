"""Connections that keep to one budget of time and bytes for a whole exchange.

A socket's own timeout is per read: a peer that sends a byte now and then never meets it. Here each read and each write
gets what is left of the exchange's time, and what is read counts against the exchange's bytes, headers included.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import httpcore

PIECE_BYTES = 16 << 10


class Budget:
    """The rest of one exchange's budget. Without a `begin` it is empty."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._until = float("-inf")
        self._seconds = 0.0
        self._bytes = 0
        self._ended = False

    def begin(self, seconds: float, size: int) -> None:
        self._until = self._monotonic() + seconds
        self._seconds = seconds
        self._bytes = size

    def end(self) -> None:
        """From now on, no exchange continues or begins."""
        self._ended = True

    def left_s(self) -> float:
        """Raises httpcore.ReadTimeout if no time is left."""
        left = self._until - self._monotonic()
        if self._ended or left <= 0:
            raise httpcore.ReadTimeout("ended" if self._ended else f"not done within {self._seconds:g} s")
        return left

    def spend(self, size: int) -> None:
        """Raises httpcore.ReadError if more was read than the exchange allows."""
        self._bytes -= size
        if self._bytes < 0:
            raise httpcore.ReadError("the answer is longer than allowed")


class Stream(httpcore.NetworkStream):
    """One connection, whose reads and writes keep to the budget."""

    def __init__(self, inner: httpcore.NetworkStream, budget: Budget, streams: set[Stream]) -> None:
        self._inner = inner
        self._budget = budget
        self._streams = streams
        streams.add(self)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        content = self._inner.read(max_bytes, self._budget.left_s())
        self._budget.spend(len(content))
        return content

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE_BYTES):
            self._inner.write(buffer[start : start + PIECE_BYTES], self._budget.left_s())

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        self._streams.discard(self)
        encrypted = self._inner.start_tls(ssl_context, server_hostname, self._budget.left_s())
        return Stream(encrypted, self._budget, self._streams)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def close(self) -> None:
        self._streams.discard(self)
        self._inner.close()

    def shut(self) -> None:
        """Wake a thread that reads or writes."""
        with suppress(OSError):
            self.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


class Network(httpcore.NetworkBackend):
    """Connects within the budget, and tries the addresses of a name one after the other."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._inner = httpcore.SyncBackend()
        self._streams: set[Stream] = set()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> Stream:
        failed: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses(host, port, self._budget.left_s()):
            try:
                inner = self._inner.connect_tcp(address, port, self._budget.left_s(), local_address, socket_options)
                return Stream(inner, self._budget, self._streams)
            except httpcore.ConnectError as error:
                failed = error
        raise failed

    def shut(self) -> None:
        """End what is open, from another thread."""
        self._budget.end()
        for stream in list(self._streams):
            stream.shut()


def addresses(host: str, port: int, within_s: float) -> list[str]:
    """A name's addresses. Raises httpcore.ConnectError, and ConnectTimeout if nothing answers in time.

    Looked up in a thread of its own, because the system's resolver has no deadline.
    """
    found: list[str] = []
    failed: list[OSError] = []

    def look_up() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.extend(dict.fromkeys(str(address[0]) for *_, address in answers))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=look_up, name="name look-up", daemon=True)
    thread.start()
    thread.join(within_s)
    if failed:
        raise httpcore.ConnectError(f"{host}: {failed[0].strerror}")
    if thread.is_alive():
        raise httpcore.ConnectTimeout(f"no address of {host} was found within {within_s:.1f} s")
    return found
