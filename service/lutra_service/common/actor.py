"""The actor of the current request: read for the log and the audit trail, on any thread."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Actor:
    """`token_id` is None until the token is known to be valid, and outside requests."""

    token_id: str | None = None
    token_name: str = ""
    address: str = ""
    request_id: str = ""


SERVICE = "service"
"""The actor of a decision without a token."""
AUTOMATIC = "automatic"
"""The actor of an approval by a session of its own recommendation."""
current_actor: ContextVar[Actor] = ContextVar("current_actor", default=Actor())  # noqa: B039  (it is frozen)
