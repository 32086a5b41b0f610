"""A real HTTP server that takes reports and hands out directives, and answers as badly as it can.

It reads every report before it misbehaves, so that what an agent said is known whatever came of the answer.
"""

from __future__ import annotations

import gzip
import json
import random
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.attacks.hostile_directives import Liar

HOLD_S = 10.0
MOST_SLOW = 3
"""Slow answers in a run, so that the hour of simulated time ends within minutes."""
HOSTILE_SHARE = 0.2
MEGABYTES = 24

_BOMB = gzip.compress(b'{"rules":{}' + b" " * (100 << 20) + b"}", 6)
_PROBLEM = json.dumps({"code": "nonsense", "detail": "no " * 1000}).encode()


class Service:
    """`honest` stops the misbehaviour and the directives; what was said before stays known."""

    def __init__(self, liar: Liar, rng: random.Random) -> None:
        self.liar = liar
        self.rng = rng
        self.honest = False
        self.url = ""
        self.answers: Counter[str] = Counter()
        self.kinds: dict[str, str] = {}
        self.offered: Counter[str] = Counter()
        self.outcomes: dict[tuple[str, str], dict[str, Any]] = {}
        self.windows_told: list[dict[str, Any]] = []
        self.stray_tokens = 0
        self._slow = 0
        self._lock = threading.Lock()

    def take(self, body: bytes) -> None:
        with suppress(ValueError, OSError, EOFError, zlib.error):
            report = json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
            for outcome in report.get("outcomes", ()):
                self.outcomes.setdefault((outcome["directive"], outcome["state"]), outcome)

    def directive(self) -> dict[str, Any] | None:
        with self._lock:
            if self.honest or self.rng.random() < 0.4:
                return None
            kind, made = self.liar.directive()
            before = self.kinds.get(made["id"])
            self.kinds[made["id"]] = f"{before}; {kind}" if before else kind
            self.offered[kind] += 1
            self.windows_told += made.get("rules", {}).get("maintenance_windows", [])
            return made

    def receipt(self) -> dict[str, Any]:
        found: dict[str, Any] = {"rules": self.liar.rules() if self.rng.random() < 0.3 and not self.honest else {}}
        self.windows_told += found["rules"].get("maintenance_windows", [])
        if (directive := self.directive()) is not None:
            found["directive"] = directive
        return found

    def behaviour(self) -> Behaviour:
        """How the next answer is given; a slow one only while there are some left."""
        with self._lock:
            if self.honest or self.rng.random() > HOSTILE_SHARE:
                return plain
            chosen = self.rng.choice(BEHAVIOURS)
            if chosen in SLOW:
                self._slow += 1
                chosen = chosen if self._slow <= MOST_SLOW else broken_off
            self.answers[chosen.__name__.replace("_", " ")] += 1
            return chosen


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service

    def do_POST(self) -> None:
        self.service.take(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self._misbehave(json.dumps(self.service.receipt()).encode())

    def do_GET(self) -> None:
        if self.path.startswith("/stray"):
            self.service.stray_tokens += "Authorization" in self.headers
        made = self.service.directive()
        self._misbehave(b"" if made is None else json.dumps(made).encode())

    def _misbehave(self, body: bytes) -> None:
        try:
            self.service.behaviour()(self, body)
        except OSError:
            self.close_connection = True

    def answer(self, status: int, body: bytes, kind: str = "application/json", **more: str) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), **more}
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        return None


Behaviour = Callable[[Handler, bytes], None]


def plain(handler: Handler, body: bytes) -> None:
    handler.answer(200 if body else 204, body)


def one_byte_at_a_time(handler: Handler, body: bytes) -> None:
    body = body or b"{}"
    handler.answer(200, b"", Content_Length=str(len(body) + 1000))
    ends = time.monotonic() + HOLD_S
    for byte in body:
        handler.wfile.write(bytes([byte]))
        if time.monotonic() > ends:
            break
        time.sleep(0.5)
    handler.close_connection = True


def headers_without_end(handler: Handler, _: bytes) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    ends = time.monotonic() + HOLD_S
    while time.monotonic() < ends:
        handler.wfile.write(b"X-A: b\r\n")
        time.sleep(0.5)
    handler.close_connection = True


def no_answer(handler: Handler, _: bytes) -> None:
    time.sleep(HOLD_S)
    handler.close_connection = True


def megabytes(handler: Handler, _body: bytes) -> None:
    handler.answer(200, b"", Content_Length=str(MEGABYTES << 20))
    for _ in range(MEGABYTES):
        handler.wfile.write(b" " * (1 << 20))


def gzip_bomb(handler: Handler, _: bytes) -> None:
    handler.answer(200, _BOMB, Content_Encoding="gzip")


def deep_json(handler: Handler, _: bytes) -> None:
    handler.answer(200, b"[" * 200_000)


def wrong_types(handler: Handler, _: bytes) -> None:
    shapes: tuple[Any, ...] = (
        [],
        "text",
        1e308,
        None,
        {"directive": []},
        {"rules": 7},
        {"rules": {"guardrails": {"p99": "off"}}},
    )
    handler.answer(200, json.dumps(handler.service.rng.choice(shapes)).encode())


def no_json(handler: Handler, _: bytes) -> None:
    handler.answer(200, handler.service.rng.randbytes(2000))


def server_error(handler: Handler, _: bytes) -> None:
    handler.answer(handler.service.rng.choice((500, 502, 503, 504)), b"away", "text/html")


def refused_for_good(handler: Handler, _: bytes) -> None:
    handler.answer(handler.service.rng.choice((400, 404, 409, 413, 422)), _PROBLEM, "application/problem+json")


def refused_for_now(handler: Handler, _: bytes) -> None:
    status = handler.service.rng.choice((401, 403, 408, 425, 429))
    handler.answer(status, _PROBLEM, "application/problem+json", Retry_After="99999999999")


def redirected(handler: Handler, _: bytes) -> None:
    handler.answer(handler.service.rng.choice((301, 302, 307, 308)), b"", Location=f"{handler.service.url}/stray")


def broken_off(handler: Handler, body: bytes) -> None:
    handler.answer(200, body[: len(body) // 2], Content_Length=str(len(body) + 100))
    handler.close_connection = True


SLOW: tuple[Behaviour, ...] = (one_byte_at_a_time, headers_without_end, no_answer)
BEHAVIOURS: tuple[Behaviour, ...] = (
    *SLOW,
    megabytes,
    gzip_bomb,
    deep_json,
    wrong_types,
    no_json,
    server_error,
    refused_for_good,
    refused_for_now,
    redirected,
    broken_off,
)


@contextmanager
def answering(service: Service) -> Iterator[Service]:
    handler = type("Bound", (Handler,), {"service": service})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
