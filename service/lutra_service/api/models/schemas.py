"""Model versions, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import StringConstraints, model_validator

from lutra_service.api.http.body import Answer, Body, Label
from lutra_service.common.documents import Document

ModelState = Literal["candidate", "champion", "retired"]


class NewModel(Body):
    """An options document, as TOML or as JSON: one of both. What it does not name keeps its default."""

    name: Label
    """For people: what is tried."""
    toml: Annotated[str, StringConstraints(max_length=65_536)] | None = None
    """The document as TOML, such as `lutra models options` prints one."""
    options: Document | None = None
    """The document as JSON: a room of options is an object."""
    note: Annotated[str, StringConstraints(max_length=1000)] = ""
    """Why, in a sentence."""

    @model_validator(mode="after")
    def _one_document(self) -> NewModel:
        if (self.toml is None) == (self.options is None):
            raise ValueError("one of toml and options is wanted")
        return self


class PackageAnswer(Answer):
    """A package beside Lutra's own that a model version needs."""

    option: str
    """The option that names what the package brings."""
    name: str
    """The package's name."""
    version: str
    """The package's version when the model version was registered: no other one will do."""


class ModelAnswer(Answer):
    """A model version: options of the recommender, and the packages that they need."""

    id: str
    """Its id."""
    name: str
    """What is tried."""
    note: str
    """Why, in a sentence."""
    state: ModelState
    """One version is the champion."""
    serves: bool
    """Whether recommendations that are asked for now are computed by it: the champion's, if nothing is missing."""
    missing: list[str]
    """What is not installed of the packages that it needs; the version before a champion serves in its place."""
    shadow: bool
    """Whether it predicts beside the champion."""
    package_version: str
    """The version of Lutra that it was registered with; of what is shipped, the one that runs."""
    packages: list[PackageAnswer]
    """The packages that it needs besides."""
    fingerprint: str
    """The same for versions that compute the same."""
    former: str | None
    """The champion before it; a roll-back goes there."""
    created_at: datetime
    """When it was registered."""
    created_by: str
    """The name of the token that registered it."""
    promoted_at: datetime | None
    """When it became the champion last."""
    retired_at: datetime | None
    """When it was retired last; null while it is not."""
    scored_at: datetime | None
    """When its scorecard was computed; null before that."""
