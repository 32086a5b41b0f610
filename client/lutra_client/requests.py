"""A call as a value: the request and the type of the answer. This module does no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from lutra_client.moments import text

T = TypeVar("T")
KEY = "Idempotency-Key"
SAFE = ("GET", "PUT", "DELETE")
"""Methods with the same effect if they are sent twice."""


@dataclass(frozen=True)
class Request(Generic[T]):
    """One request, whose answer is a T. `once`: the service carries it out once for each Idempotency-Key.

    `answer` is T itself, of a list and of lines that of an item; None leaves the document as it travels.
    """

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    once: bool = False
    waits_s: float = 0.0
    """The time that the service may take before it answers, in addition to its usual time."""
    answer: Any = None

    @property
    def repeatable(self) -> bool:
        """Whether it may be sent again if it is unknown whether it was executed."""
        return self.method in SAFE or KEY in self.headers

    def keyed(self, key: str) -> Request[T]:
        """With `key` as its Idempotency-Key, if it accepts one and has none."""
        if not self.once or KEY in self.headers:
            return self
        return replace(self, headers={**self.headers, KEY: key})

    def asking(self, **query: Any) -> Request[T]:
        """With these additional parameters."""
        return replace(self, query={**self.query, **query})


def path(template: str, **ids: str) -> str:
    """The path with each id in its place, whatever characters it has. Raises ValueError for an empty one."""
    if empty := [name for name, id_ in ids.items() if not id_]:
        raise ValueError(f"{empty[0]}: an id must not be empty")
    return template.format(**{name: quote(id_, safe="") for name, id_ in ids.items()})


def given(**values: Any) -> dict[str, Any]:
    """The parameters that are not None, in the service's form."""
    return {name: text(value) for name, value in values.items() if value is not None}


def key(word: str | None) -> dict[str, str]:
    return {} if word is None else {KEY: word}


def prefer(wait_s: float | None) -> dict[str, str]:
    return {} if wait_s is None else {"Prefer": f"wait={wait_s:g}"}
