"""What every request's body has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """Refuses fields that nobody knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)
