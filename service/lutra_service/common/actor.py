"""Who acts in the request that is under way: read where something is logged or audited, on any thread."""

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
"""Who decided, where no token did."""
AUTOMATIC = "automatic"
"""Who approved, where a session approves its own."""
current_actor: ContextVar[Actor] = ContextVar("current_actor", default=Actor())  # noqa: B039  (it is frozen)
