"""What every request's body has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints

Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""A name that people give."""


class Body(BaseModel):
    """Refuses fields that nobody knows. A text below a field describes it in the OpenAPI document."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Answer(BaseModel):
    """What a request is answered with, its fields described in the same way."""

    model_config = ConfigDict(use_attribute_docstrings=True)


READ_ONLY: dict[str, JsonValue] = {"readOnly": True}
"""Answered, and taken back unread: what was read can be put back whole."""
