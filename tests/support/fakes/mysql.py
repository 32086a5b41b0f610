"""A connection of the MySQL family without a server: recorded answers, and what it was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lutra_agent.engines.common.peer import Peer


class FakeConnection:
    """`answers` are by the beginning of the statement: rows, one row by name, an error, or an iterator of rows."""

    generation = 1

    def __init__(
        self, answers: Mapping[str, Any] | None = None, *, version: str = "9.7.4", admits: bool = True
    ) -> None:
        self.answers = dict(answers or {})
        self.server_version = version
        self.admits = admits
        self.asked: list[str] = []
        self.durations_s: list[float] = []
        self.further_questions = 0
        self.closed = False

    def peer(self) -> Peer:
        return Peer()

    def admitted(self) -> bool:
        return self.admits

    def rows(self, query: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        return self.named_rows(query, parameters)[1]

    def row(self, query: str, parameters: Sequence[Any] | None = None) -> tuple[Any, ...]:
        return self.rows(query, parameters)[0]

    def named_rows(
        self, query: str, parameters: Sequence[Any] | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        self.asked.append(query)
        self.durations_s.append(0.001)
        found = next((a for start, a in self.answers.items() if query.startswith(start)), [])
        if isinstance(found, Exception):
            raise found
        if isinstance(found, Mapping):
            return list(found), [tuple(found.values())]
        return [], found if isinstance(found, list) else next(found)

    def close(self) -> None:
        self.closed = True
