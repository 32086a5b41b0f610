"""Questions answered together: who is in a round, and who waits for the next."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from lutra_service.common.together import Together

from tests.support.waiting import PATIENCE_S


class Slow:
    """Answers with the number of the round; the first round waits until it is let go."""

    def __init__(self) -> None:
        self.rounds: list[list[str]] = []
        self.go = threading.Event()

    def __call__(self, asked: Sequence[str]) -> list[int]:
        self.rounds.append(list(asked))
        assert self.go.wait(PATIENCE_S)
        if "bad" in asked:
            raise ValueError("bad")
        return [len(self.rounds)] * len(asked)


async def started(together: Together[str, int], slow: Slow, *asked: tuple[str, str | None]) -> list[asyncio.Task[int]]:
    """Questions that were asked while the one before them was under way."""
    first = asyncio.create_task(together.ask("first"))
    while not slow.rounds:
        await asyncio.sleep(0.001)
    later = [asyncio.create_task(together.ask(*each)) for each in asked]
    await asyncio.sleep(0)
    slow.go.set()
    return [first, *later]


def test_who_asks_during_a_round_is_answered_by_the_next_one() -> None:
    async def ask() -> list[int]:
        slow = Slow()
        found = await asyncio.gather(*await started(Together(slow), slow, ("a", None), ("b", None)))
        assert slow.rounds == [["first"], ["a", "b"]]
        return list(found)

    assert asyncio.run(ask()) == [1, 2, 2]


def test_of_one_key_there_is_one_in_a_round_and_nobody_else_waits_for_the_others() -> None:
    async def ask() -> list[list[str]]:
        slow = Slow()
        many = [(f"a{n}", "a") for n in range(3)]
        await asyncio.gather(*await started(Together(slow, most=2), slow, *many, ("b", "b"), ("c", "c")))
        return slow.rounds

    assert asyncio.run(ask()) == [["first"], ["a0", "b"], ["a1", "c"], ["a2"]]


def test_a_round_that_fails_fails_for_all_that_are_in_it_and_for_nobody_else() -> None:
    async def ask() -> int:
        slow = Slow()
        together = Together(slow, most=2)
        tasks = await started(together, slow, ("bad", None), ("a", None), ("b", None))
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(f) for f in found] == [int, ValueError, ValueError, int]
        return await together.ask("again")

    assert asyncio.run(ask()) == 4


def test_who_leaves_takes_nobody_along() -> None:
    async def ask() -> int:
        slow = Slow()
        tasks = await started(Together(slow), slow, ("a", None), ("b", None))
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        return await tasks[2]

    assert asyncio.run(ask()) == 2
