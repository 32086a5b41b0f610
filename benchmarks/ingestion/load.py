"""Clients that keep their connections: each sends the reports of its own databases, one after another."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median, quantiles

from benchmarks.ingestion.fill import Reporter, report


@dataclass(frozen=True)
class Measured:
    """One turn: reports a second that were stored, how long a report took in milliseconds, and how many failed."""

    per_s: float
    p50_ms: float
    p99_ms: float
    failed: int


@dataclass(frozen=True)
class Answer:
    ms: float
    stored: bool


class Load:
    """Numbers go on from turn to turn."""

    def __init__(self, port: int, reporters: Sequence[Reporter], connections: int) -> None:
        self._port = port
        self._parts = [reporters[n::connections] or [reporters[n % len(reporters)]] for n in range(connections)]
        self._sent = 0
        self._at = datetime.now(UTC)

    def run(self, reports: int) -> Measured:
        """`reports` in all, spread over the connections."""
        each = max(1, reports // len(self._parts))
        requests = [self._requests(n, part, each) for n, part in enumerate(self._parts)]
        self._sent += each
        began = time.perf_counter()
        answers = [answer for some in asyncio.run(self._all(requests)) for answer in some]
        seconds = time.perf_counter() - began
        took, failed = [a.ms for a in answers], sum(not a.stored for a in answers)
        return Measured((len(answers) - failed) / seconds, median(took), quantiles(took, n=100)[-1], failed)

    def _requests(self, connection: int, part: Sequence[Reporter], count: int) -> list[bytes]:
        """From each database of `part` in turn. Where several connections share a database, their numbers mix."""
        made = []
        for n in range(self._sent, self._sent + count):
            reporter = part[n % len(part)]
            number = 1 + n * len(self._parts) + connection
            made.append(_request(reporter, json.dumps(report(number, self._at)).encode()))
        return made

    async def _all(self, requests: Sequence[Sequence[bytes]]) -> list[list[Answer]]:
        return await asyncio.gather(*(self._connection(some) for some in requests))

    async def _connection(self, requests: Sequence[bytes]) -> list[Answer]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        answers = []
        try:
            for request in requests:
                began = time.perf_counter()
                writer.write(request)
                stored = await _stored(reader)
                answers.append(Answer((time.perf_counter() - began) * 1000, stored))
        finally:
            writer.close()
        return answers


def _request(reporter: Reporter, body: bytes) -> bytes:
    head = (
        f"POST /v1/databases/{reporter.database}/reports HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {reporter.token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "".join(f"{line}\r\n" for line in (*head, "")).encode() + body


async def _stored(reader: asyncio.StreamReader) -> bool:
    """Whether the answer says that it is stored now."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    body = await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
    return " 200 " in head.partition("\r\n")[0] and json.loads(body)["duplicate"] is False
