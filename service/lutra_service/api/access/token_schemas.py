"""Tokens, as requests and answers."""

from __future__ import annotations

from datetime import datetime

from pydantic import AwareDatetime, Field

from lutra_service.api.http.body import Answer, Body, Label
from lutra_service.app.access.tokens import GivenScope, Scope


class NewToken(Body):
    """A token to create."""

    name: Label
    """A name for people: the owner or the purpose."""
    scopes: list[GivenScope] = Field(min_length=1, max_length=6)
    """The scopes: `models` and `propose` include `read`, `operate` includes `propose`, `admin` all but `agent`."""
    expires_at: AwareDatetime | None = None
    """When it expires; null: it is valid until it is revoked."""


class Rotation(Body):
    """How a token is replaced by one with a new secret."""

    grace_s: int = Field(default=0, ge=0, le=30 * 86400)
    """The number of seconds during which the old secret stays valid."""
    expires_at: AwareDatetime | None = None
    """When the new token expires; null: with the lifetime of the old token."""


class TokenAnswer(Answer):
    """A token, without its secret."""

    id: str
    """The id."""
    name: str
    """The owner or the purpose."""
    scopes: list[Scope]
    """The scopes. `enrol` is that of an enrolment, whose token is used once."""
    database: str | None
    """The only database that it reaches; null if it reaches all."""
    created_at: datetime
    """When it was created."""
    revoked_at: datetime | None
    """When it was revoked; null while it is valid."""
    expires_at: datetime | None
    """When it expires; null: it is valid until it is revoked."""
    last_used_at: datetime | None
    """When it was last used, to the minute; null if never."""


class OwnTokenAnswer(Answer):
    """The token of the request, without its secret."""

    id: str
    """The id."""
    name: str
    """The owner or the purpose."""
    scopes: list[Scope]
    """The scopes, and those that they include."""
    database: str | None
    """The only database that it reaches; null if it reaches all."""


class NewTokenAnswer(TokenAnswer):
    """A token and its secret."""

    token: str | None
    """The secret, shown once; null if the request is repeated with the same Idempotency-Key."""


class NewEnrolment(Body):
    """How one agent may enrol for a database."""

    lifetime_s: int = Field(default=900, ge=60, le=86400)
    """The number of seconds during which the token is valid."""


class EnrolmentAnswer(Answer):
    """An agent that is enrolled: its database and its own token."""

    database: str
    """The database's id."""
    name: str
    """The database's name."""
    engine: str
    """The database's engine."""
    token_id: str
    """The id of the agent's token."""
    token: str
    """The secret of the agent's token, shown once."""
