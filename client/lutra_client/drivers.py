"""The code that carries out a flow, with threads that block or with asyncio. Only here do the clients differ."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import httpx

from lutra_client.errors import not_lutra, problem, unreachable
from lutra_client.exchange import Flow, Pause, Reply, Retries, again_after_s
from lutra_client.moments import text
from lutra_client.requests import Request

T = TypeVar("T")


@dataclass(frozen=True)
class Blocking:
    """`headers` go with each request. A `lent` client is its owner's: it keeps its own headers, and stays open."""

    http: httpx.Client
    retries: Retries
    headers: Mapping[str, str] = field(default_factory=dict)
    lent: bool = False

    def run(self, flow: Flow[T]) -> T:
        reply: Reply = None
        while True:
            try:
                wish = flow.send(reply)
            except StopIteration as done:
                result: T = done.value
                return result
            if isinstance(wish, Pause):
                time.sleep(wish.seconds)
                reply = None
                continue
            try:
                reply = self.http.request(wish.method, wish.path, **_parts(self, wish))
            except httpx.TransportError as error:
                reply = error

    @contextmanager
    def streamed(self, request: Request[Any]) -> Iterator[httpx.Response]:
        """The answer while it arrives; a refused request is sent again like any other. Raises Problem, and Unreachable
        even if the answer breaks off.
        """
        for attempt in count(1):
            try:
                with self.http.stream(request.method, request.path, **_parts(self, request)) as response:
                    if _streams(response):
                        yield response
                        return
                    response.read()
            except httpx.TransportError as error:
                raise unreachable(request.method, request.path, error) from error
            time.sleep(_pause_s(request, response, self.retries, attempt))


@dataclass(frozen=True)
class Awaiting:
    """The same for asyncio."""

    http: httpx.AsyncClient
    retries: Retries
    headers: Mapping[str, str] = field(default_factory=dict)
    lent: bool = False

    async def run(self, flow: Flow[T]) -> T:
        reply: Reply = None
        while True:
            try:
                wish = flow.send(reply)
            except StopIteration as done:
                result: T = done.value
                return result
            if isinstance(wish, Pause):
                await asyncio.sleep(wish.seconds)
                reply = None
                continue
            try:
                reply = await self.http.request(wish.method, wish.path, **_parts(self, wish))
            except httpx.TransportError as error:
                reply = error

    @asynccontextmanager
    async def streamed(self, request: Request[Any]) -> AsyncIterator[httpx.Response]:
        """The answer while it arrives; a refused request is sent again like any other. Raises Problem, and Unreachable
        even if the answer breaks off.
        """
        for attempt in count(1):
            try:
                async with self.http.stream(request.method, request.path, **_parts(self, request)) as response:
                    if _streams(response):
                        yield response
                        return
                    await response.aread()
            except httpx.TransportError as error:
                raise unreachable(request.method, request.path, error) from error
            await asyncio.sleep(_pause_s(request, response, self.retries, attempt))


def _streams(response: httpx.Response) -> bool:
    """Whether it is what was asked for: no refusal, and no page of somebody between."""
    return not response.is_error and not response.headers.get("content-type", "").startswith("text/html")


def _pause_s(request: Request[Any], refused: httpx.Response, retries: Retries, attempt: int) -> float:
    """Raises Problem if it is not asked again, and NotLutra for a page."""
    if not refused.is_error:
        raise not_lutra(refused)
    pause_s = again_after_s(request, refused, retries, attempt)
    if pause_s is None:
        raise problem(refused)
    return pause_s


def _parts(driver: Blocking | Awaiting, request: Request[Any]) -> dict[str, Any]:
    """What httpx is told beside method and path. An answer that is waited for may take so much longer to come."""
    body = {} if request.body is None else {"json": text(dict(request.body))}
    told = {"params": dict(request.query), "headers": {**driver.headers, **request.headers}, **body}
    usual = driver.http.timeout
    if not request.waits_s or usual.read is None:
        return told
    longer = httpx.Timeout(connect=usual.connect, read=usual.read + request.waits_s, write=usual.write, pool=usual.pool)
    return {**told, "timeout": longer}
