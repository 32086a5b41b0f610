"""Sends generated requests over some connections at once, and collects what is wrong with the answers."""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.attacks.fuzz_checks import Checks
from benchmarks.attacks.fuzz_requests import Requests, Sent
from benchmarks.attacks.fuzz_world import World
from tests.support.service.served import Served

ANSWER_S = 75.0
REFRESHED_EVERY = 300


@dataclass
class Findings:
    """Statuses by scope, and each fault once with its first request and how often it was seen."""

    requests: int = 0
    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    faults: dict[str, dict[str, Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def answered(self, scope: str, status: int) -> int:
        with self._lock:
            self.requests += 1
            self.statuses.setdefault(scope, Counter())[status] += 1
            return self.requests

    def fault(self, scope: str, kind: str, detail: str, sent: Sent | None) -> None:
        where = "" if sent is None else f"{sent.method} {sent.call.template}"
        with self._lock:
            new = {
                "kind": kind,
                "where": where,
                "scope": scope,
                "detail": detail,
                "request": str(sent or ""),
                "times": 0,
            }
            self.faults.setdefault(f"{kind} {where} {detail[:30]}", new)["times"] += 1

    def counted(self, *kinds: str) -> int:
        return sum(f["times"] for f in self.faults.values() if not kinds or f["kind"] in kinds)


def fuzz(served: Served, scopes: tuple[str, ...], per_scope: int, seed: int, connections: int = 6) -> Findings:
    """`per_scope` requests of each scope. The service has to be a fresh one."""
    world, findings = World(served), Findings()
    for number, scope in enumerate(scopes):
        share = [per_scope // connections + (n < per_scope % connections) for n in range(connections)]
        threads = [
            threading.Thread(target=_send, args=(served, world, scope, count, seed * 1000 + number * 100 + n, findings))
            for n, count in enumerate(share)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if world.state_of_foreign() != world.before:
        findings.fault("any", "foreign database changed", "what its administrator sees is another thing now", None)
    if served.process is None or served.process.poll() is not None:
        findings.fault("any", "the service ended", served.log[-500:], None)
    return findings


def _send(served: Served, world: World, scope: str, count: int, seed: int, findings: Findings) -> None:
    requests, checks = Requests(world, scope, random.Random(seed)), Checks(world, scope)
    with httpx.Client(base_url=f"http://127.0.0.1:{served.port}", timeout=ANSWER_S) as client:
        for _ in range(count):
            sent = requests.next()
            answer = _answer(client, sent)
            if isinstance(answer, httpx.TransportError):
                findings.answered(scope, 0)
                findings.fault(scope, "no answer", f"{type(answer).__name__} {answer}", sent)
                continue
            number = findings.answered(scope, answer.status_code)
            for kind, detail in checks.faults(sent, answer):
                findings.fault(scope, kind, detail, sent)
            if number % REFRESHED_EVERY == 0:
                world.refresh()


def _answer(client: httpx.Client, sent: Sent) -> httpx.Response | httpx.TransportError:
    """Tried twice: a server may close a connection that was kept open, just when the next request comes."""
    for last in (False, True):
        try:
            return client.request(sent.method, sent.path, headers=_encoded(sent), content=sent.content)
        except httpx.TransportError as error:
            if last:
                return error
    raise AssertionError("unreachable")


def _encoded(sent: Sent) -> dict[bytes, bytes]:
    return {name.encode("latin-1"): value.encode("latin-1") for name, value in sent.headers.items()}
