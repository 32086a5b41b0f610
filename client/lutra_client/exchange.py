"""One exchange with the service, and waiting for its result: as generators that ask for a request to be sent or for a
pause, so that one description serves both clients.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from lutra_client import moments
from lutra_client.errors import TimedOut, not_lutra, problem, retry_after_s, unreachable
from lutra_client.requests import Request

T = TypeVar("T")


@dataclass(frozen=True)
class Pause:
    seconds: float


Wish = Request[Any] | Pause
Reply = httpx.Response | httpx.TransportError | None
"""An answer whose body is read, the reason why there is none, or nothing after a pause."""
Flow = Generator[Wish, Reply, T]
REFUSED_UNREAD = ("busy", "store_unavailable", "too_many_requests")
"""Codes of requests that changed nothing."""
GATEWAYS = (502, 503, 504)


@dataclass(frozen=True)
class Retries:
    """A request that may be repeated is sent up to `attempts` times. Pauses double from `first_s` up to `longest_s`,
    each by chance between half of that and all of it; if the service names a time, that one counts."""

    attempts: int = 4
    first_s: float = 0.25
    longest_s: float = 8.0
    chance: Callable[[], float] = field(default_factory=lambda: random.random)

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 < self.first_s <= self.longest_s:
            raise ValueError(f"attempts ≥ 1 and 0 < first_s ≤ longest_s are required, got {self}")

    def pause_s(self, attempt: int, asked_s: float | None) -> float:
        """The pause after attempt number `attempt`, from 1."""
        usual = min(self.first_s * 2 ** (attempt - 1), self.longest_s)
        return usual * (0.5 + self.chance() / 2) if asked_s is None else asked_s


NEVER = Retries(attempts=1)


def exchanged(request: Request[T], retries: Retries) -> Flow[httpx.Response]:
    """The answer, its body read. Raises Problem, and Unreachable."""
    request = request.keyed(uuid.uuid4().hex)
    for attempt in range(1, retries.attempts + 1):
        reply = yield request
        assert reply is not None
        if isinstance(reply, httpx.Response) and not reply.is_error:
            return reply
        pause_s = again_after_s(request, reply, retries, attempt)
        if pause_s is None:
            break
        yield Pause(pause_s)
    if isinstance(reply, httpx.Response):
        raise problem(reply)
    assert reply is not None
    raise unreachable(request.method, request.path, reply) from reply


def again_after_s(request: Request[Any], reply: Reply, retries: Retries, attempt: int) -> float | None:
    """The time to wait after attempt number `attempt`, from 1; None if it was the last one."""
    if attempt == retries.attempts or not _again(request, reply):
        return None
    return retries.pause_s(attempt, retry_after_s(reply) if isinstance(reply, httpx.Response) else None)


def answered(request: Request[T], retries: Retries) -> Flow[T]:
    """The service's answer: a document, a text, or None for an empty one. Raises NotLutra for a web page."""
    response = yield from exchanged(request, retries)
    found: T = moments.read(_read(response), request.answer)
    return found


def until(
    ask: Callable[[float], Request[T]],
    done: Callable[[T], bool],
    retries: Retries,
    timeout_s: float,
    every_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> Flow[T]:
    """The first answer that is `done`; `ask` gets the seconds that are left. Raises TimedOut after `timeout_s`."""
    deadline = clock() + timeout_s
    while True:
        request = ask(max(deadline - clock(), 0.0))
        found = yield from answered(request, retries)
        if done(found):
            return found
        left = deadline - clock()
        if left <= 0:
            state = found.get("state") if isinstance(found, dict) else None
            told = f"; it is {state}" if state else ""
            raise TimedOut(f"{request.path}: the wait timed out after {timeout_s:g} s{told}")
        yield Pause(min(every_s, left))


def _read(response: httpx.Response) -> Any:
    if not response.content:
        return None
    kind = response.headers.get("content-type", "")
    if kind.startswith("text/html"):
        raise not_lutra(response)
    try:
        return response.json() if kind.startswith("application/json") else response.text
    except ValueError as error:
        raise not_lutra(response) from error


def _again(request: Request[Any], reply: Reply) -> bool:
    if isinstance(reply, httpx.Response):
        return (reply.status_code in (429, 503) and problem(reply).code in REFUSED_UNREAD) or (
            reply.status_code in GATEWAYS and request.repeatable
        )
    return request.repeatable or isinstance(reply, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
