"""Signals end the agent at once while it waits or measures, and only afterwards while a change is in progress."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Protocol


class Stopped(BaseException):
    """The agent was asked to end. Not an Exception, so that no handler of failures swallows it."""


class SignalDeferral(Protocol):
    """Holds back the signals that end the agent, while it is entered."""

    def __enter__(self) -> object: ...
    def __exit__(self, *error: object) -> None: ...


class DeferredSignals:
    """As a context manager it defers SIGTERM and SIGINT to its end."""

    def __init__(self) -> None:
        self._depth = 0
        self._asked = False

    def install(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def __enter__(self) -> DeferredSignals:
        self._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._asked and self._depth == 0:
            raise Stopped

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        if self._depth == 0:
            raise Stopped
