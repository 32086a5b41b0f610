"""The common base of every request's body."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints

Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""A name that people give."""


class Body(BaseModel):
    """Refuses unknown fields. A text below a field describes it in the OpenAPI document."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Answer(BaseModel):
    """The base of answers, with fields that are described in the same way."""

    model_config = ConfigDict(use_attribute_docstrings=True)


READ_ONLY: dict[str, JsonValue] = {"readOnly": True}
"""The mark of a field in an answer that a write ignores, so that a client can write back the whole answer."""
