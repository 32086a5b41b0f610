"""What a refusal looks like: RFC 9457, and a code that programs can rely on."""

from __future__ import annotations

from lutra_models.wire import PROTOCOL
from pydantic import BaseModel, ConfigDict, Field

from lutra_service.api.http.problems import STATUS

_DOCUMENTED = ConfigDict(use_attribute_docstrings=True)


class ProblemError(BaseModel):
    """One of the things that are wrong with a request."""

    model_config = _DOCUMENTED

    at: str
    """Where: the path to the field or the name of the parameter; empty for the whole body."""
    message: str
    """What is wanted there, and what was given."""


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
    """What kind of problem it is: a closed set, for programs to tell them apart."""
    detail: str
    """What happened, with the values, and mostly the way out; for people."""
    errors: list[ProblemError] | None = None
    """With `invalid_request` and `unknown_field`: each place that is wrong, the first twenty."""
    protocol: int | None = Field(default=None, examples=[PROTOCOL])
    """With `unknown_field`: the protocol that the service speaks."""
