"""What a stranger can send, each kind a coroutine that runs one attempt; how many at once and how often is in LOADS.

A stranger has no token. What looks like one is made up.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from typing import Any

import psutil

from benchmarks.attacks import bodies

ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
"""Strangers share the first one with the agent that reports."""
PATHS = ("/v1/databases", "/v1/databases/db_x/reports", "/v1/sessions/ts_x", "/healthz", "/v1/zz", "/metrics")
HOLD_S = 20.0
READ_S = 30.0
END_S = 40.0
"""Longer than any attempt."""


@dataclass
class Stranger:
    """The target, the chance, and what came of each attempt."""

    port: int
    rng: random.Random
    bombs: list[bytes]
    keys: bytes
    came_of: dict[str, Counter[str]] = field(default_factory=dict)
    stopping: bool = False

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        source = (self.rng.choice(ADDRESSES), 0)
        return await asyncio.wait_for(asyncio.open_connection("127.0.0.1", self.port, local_addr=source), READ_S)


Act = Callable[[Stranger], Awaitable[str]]


@dataclass(frozen=True)
class Load:
    name: str
    act: Act
    at_once: int
    per_s: float


async def sent(stranger: Stranger, data: bytes) -> str:
    """Send, read the first line of the answer, close; what it was."""
    reader, writer = await stranger.connect()
    try:
        writer.write(data)
        await writer.drain()
        return await first_line(reader)
    finally:
        writer.close()


async def first_line(reader: asyncio.StreamReader) -> str:
    line = await asyncio.wait_for(reader.readline(), READ_S)
    parts = line.split(b" ")
    return parts[1].decode("latin-1") if len(parts) > 1 and line.startswith(b"HTTP/") else "closed"


async def dribbled(stranger: Stranger, first: bytes, drop: bytes, pause_s: float, reads: bool = True) -> str:
    """Send a drop at a time until the other side has had enough; at most for HOLD_S."""
    reader, writer = await stranger.connect()
    deadline = time.monotonic() + HOLD_S
    ended = asyncio.create_task(reader.read() if reads else asyncio.sleep(HOLD_S))
    try:
        writer.write(first)
        while time.monotonic() < deadline and not ended.done():
            await asyncio.wait_for(writer.drain(), HOLD_S)
            await asyncio.wait({ended}, timeout=pause_s)
            writer.write(drop)
        return "closed by the service" if reads and ended.done() else "held to the end"
    finally:
        ended.cancel()
        writer.close()


def head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode("latin-1")


async def bomb(stranger: Stranger) -> str:
    body = stranger.rng.choice(stranger.bombs)
    sizes = (f"Content-Length: {len(body)}", "Content-Encoding: gzip", "Content-Type: application/json")
    lines = ("Authorization: Bearer lutra_made-up", *sizes)
    return await sent(stranger, head("POST", "/v1/databases/db_x/reports", *lines) + body)


async def many_keys(stranger: Stranger) -> str:
    lines = ("Authorization: Bearer lutra_" + "x" * 43, f"Content-Length: {len(stranger.keys)}")
    more = ("Content-Encoding: gzip", "Content-Type: application/json")
    return await sent(stranger, head("POST", "/v1/databases", *lines, *more) + stranger.keys)


async def half_sent(stranger: Stranger) -> str:
    lines = ("Authorization: Bearer lutra_x", "Content-Length: 10", "Content-Type: application/json")
    return await dribbled(stranger, head("POST", "/v1/databases/db_x/reports", *lines) + b"[", b"", HOLD_S / 4)


async def slow_headers(stranger: Stranger) -> str:
    return await dribbled(stranger, b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"X-A: b\r\n", 1.0)


async def slow_body(stranger: Stranger) -> str:
    lines = ("Authorization: Bearer lutra_x", "Transfer-Encoding: chunked", "Content-Type: application/json")
    return await dribbled(stranger, head("POST", "/v1/databases", *lines), b"1\r\n[\r\n", 1.0)


async def idle(stranger: Stranger) -> str:
    return await dribbled(stranger, b"", b"", HOLD_S / 4)


async def made_up_method(stranger: Stranger) -> str:
    method = f"M{stranger.rng.randrange(10**9):09d}" + "X" * 500
    return await sent(stranger, head(method, stranger.rng.choice(PATHS), "Content-Length: 0"))


async def made_up_token(stranger: Stranger) -> str:
    token = f"Authorization: Bearer lutra_{stranger.rng.getrandbits(256):064x}"
    return await sent(stranger, head("GET", stranger.rng.choice(PATHS), token))


async def long_url(stranger: Stranger) -> str:
    path = stranger.rng.choice(("/v1/" + "a" * 60_000, "/v1/knobs?" + "a=b&" * 15_000, "/%00" * 10_000))
    return await sent(stranger, head("GET", path))


async def header_flood(stranger: Stranger) -> str:
    many = tuple(f"X-{n}: {'v' * 40}" for n in range(1200))
    one = ("X-Big: " + "v" * 60_000,)
    return await sent(stranger, head("GET", "/healthz", *stranger.rng.choice((many, one))))


async def no_http(stranger: Stranger) -> str:
    return await sent(stranger, bodies.garbage(stranger.rng) + b"\r\n\r\n")


async def tls_on_plain(stranger: Stranger) -> str:
    return await sent(stranger, bodies.tls_hello())


async def unread_answers(stranger: Stranger) -> str:
    """Many requests on one connection whose answers nobody reads."""
    return await dribbled(stranger, head("GET", "/v1/knobs") * 200, head("GET", "/healthz") * 20, 1.0, reads=False)


LOADS: tuple[Load, ...] = (
    Load("gzip and JSON bombs", bomb, 8, 4),
    Load("100,000 unknown keys", many_keys, 4, 2),
    Load("half-sent bodies", half_sent, 120, 30),
    Load("slow headers", slow_headers, 80, 20),
    Load("slow bodies", slow_body, 60, 20),
    Load("idle connections", idle, 60, 20),
    Load("made-up methods", made_up_method, 8, 40),
    Load("made-up tokens", made_up_token, 8, 40),
    Load("long URLs", long_url, 4, 5),
    Load("header floods", header_flood, 4, 5),
    Load("garbage bytes", no_http, 4, 10),
    Load("TLS hello on the plain port", tls_on_plain, 4, 5),
    Load("answers left unread", unread_answers, 8, 4),
)


def run(stop: Event, port: int, seed: int, share: float) -> dict[str, Any]:
    """Every load at once until told to stop; what came of each, and the processor time that making it took."""
    os.nice(10)
    stranger = Stranger(port, random.Random(seed), bodies.bombs(), bodies.unknown_keys())
    asyncio.run(_all(stop, stranger, share))
    times = psutil.Process().cpu_times()
    return {"came_of": {k: dict(v) for k, v in stranger.came_of.items()}, "cpu_s": times.user + times.system}


async def _all(stop: Event, stranger: Stranger, share: float) -> None:
    tasks = [asyncio.create_task(_repeated(load, stranger, share)) for load in LOADS for _ in range(load.at_once)]
    while not stop.is_set():
        await asyncio.sleep(0.2)
    stranger.stopping = True  # beside the cancelling, which Python 3.11's wait_for may lose
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=END_S)


async def _repeated(load: Load, stranger: Stranger, share: float) -> None:
    """One of a load's places: an attempt at a time, not oftener than its part of the rate."""
    counted = stranger.came_of.setdefault(load.name, Counter())
    every_s = load.at_once / (load.per_s * share)
    await asyncio.sleep(stranger.rng.random() * every_s)
    while not stranger.stopping:
        began = time.monotonic()
        try:
            counted[await load.act(stranger)] += 1
        except (TimeoutError, OSError, ValueError) as error:
            counted[type(error).__name__] += 1
        await asyncio.sleep(max(0.0, every_s - (time.monotonic() - began)))
