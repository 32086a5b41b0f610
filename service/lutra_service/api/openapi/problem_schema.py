"""What a refusal looks like: RFC 9457, and a code that programs can rely on."""

from __future__ import annotations

from lutra_models.wire import PROTOCOL
from pydantic import BaseModel, ConfigDict, Field

from lutra_service.api.http.problems import STATUS

_DOCUMENTED = ConfigDict(use_attribute_docstrings=True)


class ProblemError(BaseModel):
    """One error in a request."""

    model_config = _DOCUMENTED

    at: str
    """The path to the field or the name of the parameter; empty for the whole body."""
    message: str
    """The expected and the given value."""


class Problem(BaseModel):
    """Why a request was refused. A refused request changed nothing."""

    model_config = _DOCUMENTED

    type: str
    """A URN that ends in the code."""
    title: str
    """The status in words."""
    status: int
    """The HTTP status."""
    code: str = Field(json_schema_extra={"enum": [*sorted(STATUS)]})
    """The kind of problem, from a closed set, for programs."""
    detail: str
    """The explanation for people, with the values and usually a remedy."""
    errors: list[ProblemError] | None = None
    """With `invalid_request` and `unknown_field`: the first twenty errors."""
    protocol: int | None = Field(default=None, examples=[PROTOCOL])
    """With `unknown_field`: the service's protocol."""
