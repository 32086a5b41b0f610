"""What-ifs, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from lutra_models.knobs import Applies, Risk
from lutra_models.wire import SettingValue
from pydantic import Field

from lutra_service.api.databases.schemas import Settings, Values
from lutra_service.api.http.body import Answer, Body
from lutra_service.api.recommendations.schemas import ChangeAnswer, MemoryAnswer, PredictionAnswer


class NewPrediction(Body):
    """A what-if question."""

    settings: Settings = Field(default={})
    """Merged with the current ones: texts with units, or numbers in the server's own unit."""
    level: float = Field(default=0.9, ge=0.5, le=0.999)
    """The probability with which each interval should contain the reading."""
    rate: float | None = Field(default=None, gt=0, le=1e12)
    """On a live database, the offered load per second, in the unit that `load` of an answer names; null for the current
    load. A rate outside the measured ones is refused.
    """


class ForLoadAnswer(Answer):
    """The load for which predictions are made. It is an input, and is not predicted itself."""

    rate_of: str
    """The metric that measures the offered load."""
    rate: float
    """The rate: the current one, or the one of the request."""
    low: float
    """The smallest measured rate."""
    high: float
    """The largest one."""


class RecordAnswer(Answer):
    """The accuracy of such intervals for readings that were predicted before they were measured."""

    n: int
    """The number of readings that were predicted before they were measured."""
    held: int
    """The number of these readings inside their interval."""
    level: float
    """The probability with which each interval should have contained its reading."""


class RefusalAnswer(Answer):
    """Why settings would be refused."""

    code: str
    """The code of the problem with which they would be refused."""
    message: str
    """The reason, with the values."""


class NotKnownAnswer(Answer):
    """A change whose effect no model knows, with its description from the catalogue."""

    setting: str
    """Its name."""
    before: SettingValue
    """In the server's own unit."""
    after: SettingValue
    """In the server's own unit."""
    meaning: str
    """The meaning of the setting."""
    manual: str
    """The page of the server's manual."""
    risk: Risk
    """The risk of a wrong value: committed data, the server's availability, or only speed."""
    applies: Applies | Literal["fixed"]
    """The step that activates a new value."""
    memory_bytes: float
    """The contribution of this change to the memory sum."""


class PredictionsAnswer(Answer):
    """Predictions for given settings."""

    configuration: Values
    """The whole configuration, in the server's own units."""
    predictions: dict[str, PredictionAnswer]
    """The predictions by metric; empty if no model has seen any of the changed settings."""
    not_known: list[NotKnownAnswer]
    """The changes whose effect no model knows: the predictions are for the other changes."""
    changes: list[ChangeAnswer]
    """The changes."""
    memory: MemoryAnswer
    """The server's memory with the changes, line by line."""
    refusal: RefusalAnswer | None
    """Why a recommendation with these settings would be refused: the policy, a range, durability, memory or another
    rule; null if it would be accepted.
    """
    warnings: list[str]
    """Warnings."""
    observations: int
    """The number of readings to which the model was fitted."""
    session: str | None
    """The session whose model answers."""
    fitted_at: datetime
    """When the model was fitted."""
    record: dict[str, RecordAnswer]
    """By metric, how often such intervals contained the reading so far, for readings that were predicted before they
    were measured.
    """
    load: ForLoadAnswer | None = None
    """On a live database that was measured under several loads, the load of the predictions; otherwise null."""
