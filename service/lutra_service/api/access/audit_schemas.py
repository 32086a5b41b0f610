"""The audit trail, as answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lutra_service.api.http.body import Answer


class AuditAnswer(Answer):
    """Who did what to what."""

    id: str
    """Its id."""
    at: datetime
    """When it was done."""
    action: str
    """What was done, such as `recommendation.approve`."""
    target: str
    """The id of what it was done to."""
    database: str | None
    """The database that it concerns; null where it concerns none."""
    token: str | None
    """The id of the token that did it; null where the service decided, an agent or its guard acted, or somebody at
    the service's command line."""
    token_name: str
    """That token's name, or who else did it."""
    address: str
    """The network address that it came from; empty where it came from none."""
    request_id: str
    """The id of the request, as in the service's log; empty where there was none."""
    before: dict[str, Any] | None
    """What it was; null where there was nothing."""
    after: dict[str, Any] | None
    """What it became; null where nothing was left."""
