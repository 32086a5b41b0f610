"""HTTP that gives the same answer to everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lutra_agent.http.client import Answer, Bound, HttpFailed


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    bound: Bound
    headers: Mapping[str, str]
    content: bytes


class FakeHttp:
    """Without an answer every exchange fails."""

    def __init__(self, answer: Answer | None) -> None:
        self._answer = answer
        self.requests: list[Request] = []

    def exchange(
        self, method: str, path: str, bound: Bound, headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> Answer:
        self.requests.append(Request(method, path, bound, headers or {}, content))
        if self._answer is None:
            raise HttpFailed("refused")
        return replace(self._answer, items=bound.items)

    def end(self) -> None:
        return None

    def close(self) -> None:
        return None
