"""Limits on the time and the size of an answer, enforced by the client.

A server's own timeout uses its own clock: a server that is stopped, or hangs in the kernel, never checks it, and its
host answers keepalives. A socket's timeout starts again with each byte, and a program that took the port may send one
now and then, or forever.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LONGEST_ANSWER = 8 << 20
"""In bytes: far above the largest answer of a server about itself."""
POLL_S = 0.05
RECEIVED = slice(128, 136)
"""The number of received bytes in the kernel's `struct tcp_info`."""


def cut(descriptor: int) -> None:
    """Shuts the connection behind `descriptor` down: a thread that waits for its answer gets an error."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as own:
        own.shutdown(socket.SHUT_RDWR)


@contextmanager
def within(seconds: float, descriptor: int, most: int | None = None) -> Iterator[None]:
    """Shuts the connection behind `descriptor` down once the time is over, which ends any wait for an answer.

    And soon after `most` bytes have arrived, if the reader counts none. Raises TimeoutError in place of the error that
    results.
    """
    passed, ended = list[str](), threading.Event()
    # A descriptor of its own: the connection's may be closed, and its number be another file's, when the time is over.
    with socket.socket(fileno=os.dup(descriptor)) as own:

        def watch() -> None:
            if problem := _problem(seconds, own, most, ended):
                passed.append(problem)
                with suppress(OSError):
                    own.shutdown(socket.SHUT_RDWR)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        except Exception as error:
            if passed:
                raise TimeoutError(passed[0]) from error
            raise
        finally:
            ended.set()
            thread.join()


def _problem(seconds: float, own: socket.socket, most: int | None, ended: threading.Event) -> str:
    """Once the time is over, or too much has come; empty once the exchange has ended."""
    until, first = time.monotonic() + seconds, _received(own)
    while (left := until - time.monotonic()) > 0:
        if ended.wait(left if most is None else min(left, POLL_S)):
            return ""
        if most is not None and _received(own) - first > most:
            return f"an answer of more than {most} bytes"
    return f"no answer within {seconds:g} s"


def _received(own: socket.socket) -> int:
    """By the kernel's count; 0 if it has none, as of a socket of this host."""
    try:
        info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RECEIVED.stop)
    except OSError:
        return 0
    return int.from_bytes(info[RECEIVED], sys.byteorder)
