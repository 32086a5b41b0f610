"""How tests wait for what another process, thread or server does: for the event itself, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 600.0
"""A limit that only a hang reaches, on any machine: for every wait of a test for a process, a thread or a server."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.2


def until(found: Callable[[], T]) -> T:
    """Ask again and again until what is found is truthy, and return that.

    Raises:
        AssertionError: nothing truthy came within `PATIENCE_S`; with what was found last.
    """
    deadline, pause_s = time.monotonic() + PATIENCE_S, FIRST_PAUSE_S
    while not (value := found()):
        assert time.monotonic() < deadline, f"nothing came in {PATIENCE_S:g} s; the last answer was {value!r}"
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)
    return value


def until_done(read: Callable[[], T], done: Callable[[T], bool]) -> T:
    """Read again and again until what is read is done, and return that. The patience is for each step of it.

    Raises:
        AssertionError: nothing changed within `PATIENCE_S`.
    """

    def moved(last: T) -> bool:
        return read() != last

    while not done(found := read()):
        until(partial(moved, found))
    return found
