"""The audit trail, as answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lutra_service.api.http.body import Answer


class AuditAnswer(Answer):
    """An action, its actor and its object."""

    id: str
    """The id."""
    at: datetime
    """The time of the action."""
    action: str
    """The action, such as `recommendation.approve`."""
    target: str
    """The id of the object."""
    database: str | None
    """The database concerned; null if there is none."""
    token: str | None
    """The id of the token that was used; null if the service, an agent, a guard, or somebody at the service's command
    line acted.
    """
    token_name: str
    """The token's name, or the actor if there was no token."""
    address: str
    """The network address of the request; empty if there is none."""
    request_id: str
    """The id of the request, as in the service's log; empty if there is none."""
    before: dict[str, Any] | None
    """The state before; null if there was none."""
    after: dict[str, Any] | None
    """The state after; null if nothing is left."""
