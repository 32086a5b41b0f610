"""Questions of many requests, answered together by one thread: a question that arrives while it works is in its next
round.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from anyio import CapacityLimiter, to_thread

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")


@dataclass(frozen=True)
class _Waiting(Generic[Asked, Answered]):
    asked: Asked
    key: Hashable
    answer: asyncio.Future[Answered]


class Together(Generic[Asked, Answered]):
    """Belongs to one event loop. `answer` runs on a thread of its own, one round at a time; if it raises, all requests
    in the round get the error.
    """

    def __init__(self, answer: Callable[[Sequence[Asked]], Sequence[Answered]], most: int = 64) -> None:
        """At most `most` in a round."""
        self._answer = answer
        self._most = most
        self._waiting: deque[_Waiting[Asked, Answered]] = deque()
        self._round: asyncio.Task[None] | None = None
        self._place: CapacityLimiter | None = None

    async def ask(self, asked: Asked, key: Hashable = None) -> Answered:
        """Of those with the same `key`, if they have one, at most one is in a round."""
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(asked, key, answer))
        if self._round is None:
            self._round = asyncio.create_task(self._rounds())
        return await answer

    async def _rounds(self) -> None:
        place = self._place = self._place or CapacityLimiter(1)
        try:
            while self._waiting:
                chosen = self._next()
                try:
                    answers = await to_thread.run_sync(self._answer, [w.asked for w in chosen], limiter=place)
                except Exception as error:
                    for waiting in chosen:
                        _fail(waiting.answer, error)
                else:
                    for waiting, found in zip(chosen, answers, strict=True):
                        _give(waiting.answer, found)
        finally:
            self._round = None

    def _next(self) -> list[_Waiting[Asked, Answered]]:
        chosen: list[_Waiting[Asked, Answered]] = []
        later: deque[_Waiting[Asked, Answered]] = deque()
        keys: set[Hashable] = set()
        while self._waiting and len(chosen) < self._most:
            waiting = self._waiting.popleft()
            if waiting.key is not None and waiting.key in keys:
                later.append(waiting)
            else:
                keys.add(waiting.key)
                chosen.append(waiting)
        self._waiting.extendleft(reversed(later))
        return chosen


def _give(answer: asyncio.Future[Answered], found: Answered) -> None:
    if not answer.done():  # whoever asked may have left
        answer.set_result(found)


def _fail(answer: asyncio.Future[Answered], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
