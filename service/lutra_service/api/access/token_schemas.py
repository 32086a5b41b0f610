"""Tokens, as requests and answers."""

from __future__ import annotations

from datetime import datetime

from pydantic import AwareDatetime, Field

from lutra_service.api.http.body import Answer, Body, Label
from lutra_service.app.access.tokens import Scope


class NewToken(Body):
    """A token to make."""

    name: Label
    """For people: whose it is, or what for."""
    scopes: list[Scope] = Field(min_length=1, max_length=5)
    """What it may do: `operate` and `models` include `read`, `admin` includes all of them."""
    expires_at: AwareDatetime | None = None
    """Until when it is valid; null: until it is revoked."""


class Rotation(Body):
    """How a token is replaced by one with another secret."""

    grace_s: int = Field(default=0, ge=0, le=30 * 86400)
    """For so many seconds the old secret is valid too."""
    expires_at: AwareDatetime | None = None
    """Until when the new one is valid; null: for as long as the old one was given."""


class TokenAnswer(Answer):
    """A token, without its secret."""

    id: str
    """Its id."""
    name: str
    """Whose it is, or what for."""
    scopes: list[Scope]
    """What it may do."""
    database: str | None
    """The only database that it reaches; null where it reaches all."""
    created_at: datetime
    """When it was made."""
    revoked_at: datetime | None
    """Since when it is no longer valid; null while it is."""
    expires_at: datetime | None
    """Until when it is valid; null: until it is revoked."""
    last_used_at: datetime | None
    """When it was last used, to the minute; null where it never was."""


class NewTokenAnswer(TokenAnswer):
    """A token and its secret."""

    token: str | None
    """The secret. Shown once; null where an Idempotency-Key asks a second time."""
