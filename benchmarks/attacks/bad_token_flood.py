"""What one agent's token can be used for by somebody who means harm, each kind a step that the flood repeats."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from multiprocessing.synchronize import Event
from typing import Any

import httpx

from tests.support.fakes.tasks import Document
from tests.support.service.hosted import Agent

POLLS = 300
AT_ONCE = 6
PACE_S = 0.02
TEXT = 60_000


class Flood:
    def __init__(self, client: httpx.AsyncClient, agent: Agent, rng: random.Random) -> None:
        self.client = client
        self.agent = agent
        self.rng = rng
        self.came_of: dict[str, Counter[str]] = {}

    async def report(self, kind: str, **parts: Any) -> None:
        body = gzip.compress(json.dumps(self.agent.report(**parts)).encode(), 1)
        path = f"/v1/databases/{self.agent.database}/reports"
        headers = {**self.agent.headers, "Content-Encoding": "gzip", "Content-Type": "application/json"}
        await self._counted(kind, self.client.post(path, content=body, headers=headers))

    async def get(self, kind: str, path: str, **headers: str) -> None:
        path = f"/v1/databases/{self.agent.database}{path}"
        await self._counted(kind, self.client.get(path, headers={**self.agent.headers, **headers}))

    async def _counted(self, kind: str, asked: Awaitable[httpx.Response]) -> None:
        counted = self.came_of.setdefault(kind, Counter())
        try:
            counted[str((await asked).status_code)] += 1
        except httpx.HTTPError as error:
            counted[type(error).__name__] += 1
            await asyncio.sleep(0.2)

    def settings(self, change: Callable[[str, Document], Document]) -> Document:
        """The agent's settings, each changed, under a hash that nobody saw before."""
        made = self.agent.report()["settings"]
        return {"settings": {n: change(n, s) for n, s in made.items()}, "settings_hash": secrets.token_hex(16)}


async def giant_settings(flood: Flood) -> None:
    await flood.report("giant settings", **flood.settings(lambda _, s: {**s, "source": flood.rng.choice("ab") * TEXT}))


async def unknown_settings(flood: Flood) -> None:
    made = {f"s{flood.rng.getrandbits(64):x}": {"value": "v" * 500} for _ in range(1500)}
    await flood.report("unknown settings", settings=made, settings_hash=secrets.token_hex(16))


async def new_hashes(flood: Flood) -> None:
    await flood.report("a new hash each time", **flood.settings(lambda _, s: s))


async def failures(flood: Flood) -> None:
    await flood.report("failures", failure=secrets.token_hex(100))


async def events(flood: Flood) -> None:
    at = flood.agent.clock.isoformat()
    figures = {"value": 1.0, "bound": 2.0, "limit": 0.5, "held_s": 60.0, "hold_s": 60.0, "since": at, "at": at}
    one = {"guard": "qps", "metric": "m" * 1000, "message": "x" * 1000, **figures}
    await flood.report("events", events=[{"id": secrets.token_hex(16), **one} for _ in range(50)])


async def outcomes(flood: Flood) -> None:
    at = flood.agent.clock.isoformat()
    active = {f"n{i}": "v" * 900 for i in range(100)}
    one = {"directive": f"rec_{secrets.token_hex(8)}", "state": "failed", "at": at, "active": active}
    await flood.report("outcomes", outcomes=[one])


async def metrics(flood: Flood) -> None:
    made = {f"m{flood.rng.getrandbits(128):x}": 1.0 for _ in range(2000)}
    await flood.report("distinct metric names", **flood.agent.window(**made))


async def pages(flood: Flood) -> None:
    await flood.get("pages", f"/windows?limit=500&metric=x{flood.rng.getrandbits(32)}")


STEPS: tuple[Callable[[Flood], Awaitable[None]], ...] = (
    giant_settings,
    unknown_settings,
    new_hashes,
    failures,
    events,
    outcomes,
    metrics,
    pages,
)


def run(stop: Event, url: str, token: str, database: str, seed: int) -> dict[str, Any]:
    """Every step over and over, and POLLS long polls that wait meanwhile."""
    os.nice(10)
    return asyncio.run(_run(stop, url, token, database, seed))


async def _run(stop: Event, url: str, token: str, database: str, seed: int) -> dict[str, Any]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=POLLS + AT_ONCE)
    async with httpx.AsyncClient(base_url=url, timeout=90, limits=limits) as client:
        agent = Agent(httpx.Client(base_url=url), token, database, mode="reload_only")
        agent.name = secrets.token_hex(4)
        flood = Flood(client, agent, random.Random(seed))
        tasks = [asyncio.create_task(_steps(flood)) for _ in range(AT_ONCE)]
        tasks += [asyncio.create_task(_polls(flood)) for _ in range(POLLS)]
        while not stop.is_set():
            await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return {kind: dict(counted) for kind, counted in flood.came_of.items()}


async def _steps(flood: Flood) -> None:
    while True:
        await flood.rng.choice(STEPS)(flood)
        await asyncio.sleep(PACE_S)


async def _polls(flood: Flood) -> None:
    while True:
        await flood.get("long polls", "/directive", Prefer="wait=60")
        await asyncio.sleep(1.0)
