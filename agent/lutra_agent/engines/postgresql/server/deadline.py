"""A limit to how long an answer is waited for, kept by the client.

`statement_timeout` is the backend's own clock: one that is stopped, or hangs in the kernel, never looks at it, and
keepalives are answered by its host.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def cut(descriptor: int) -> None:
    """Shuts the connection behind `descriptor` down: whoever waits for its answer gets an error."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as own:
        own.shutdown(socket.SHUT_RDWR)


@contextmanager
def within(seconds: float, descriptor: int) -> Iterator[None]:
    """Shuts the connection behind `descriptor` down once the time is over, which ends any wait for an answer.

    Raises TimeoutError in place of the error that comes of it.
    """
    passed = threading.Event()
    # A descriptor of its own: the connection's may be closed, and its number be another file's, when the time is over.
    with socket.socket(fileno=os.dup(descriptor)) as own:

        def expire() -> None:
            passed.set()
            with suppress(OSError):
                own.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        except Exception as error:
            if passed.is_set():
                raise TimeoutError(f"no answer within {seconds:g} s") from error
            raise
        finally:
            timer.cancel()
            timer.join()
