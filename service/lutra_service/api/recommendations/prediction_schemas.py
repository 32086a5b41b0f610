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
    """A what-if."""

    settings: Settings = Field(default={})
    """Merged with the current ones: texts with units, or numbers in the server's own unit."""
    level: float = Field(default=0.9, ge=0.5, le=0.999)
    """The probability that each interval is to hold the reading."""
    rate: float | None = Field(default=None, gt=0, le=1e12)
    """On a live database, what clients offer in a second, in the unit that `load` of an answer names; null for the load
    of now. A rate that was not measured is refused."""


class ForLoadAnswer(Answer):
    """The load that predictions are for. It is no outcome of settings, so that it is not predicted itself."""

    rate_of: str
    """The metric that says what clients ask for."""
    rate: float
    """How much of it: that of now, or the one that was asked about."""
    low: float
    """The smallest rate that was measured."""
    high: float
    """The largest one."""


class RecordAnswer(Answer):
    """How good such intervals were on what was predicted and then measured."""

    n: int
    """So many readings were predicted and then measured."""
    held: int
    """So many of them lay inside their interval."""
    level: float
    """The probability that each interval was to hold its reading."""


class RefusalAnswer(Answer):
    """Why settings would not be let through."""

    code: str
    """The code of the problem that they would be refused with."""
    message: str
    """Why, with the values."""


class NotKnownAnswer(Answer):
    """A change of which no model knows what it does, and what the catalogue says of it."""

    setting: str
    """Its name."""
    before: SettingValue
    """In the server's own unit."""
    after: SettingValue
    """In the server's own unit."""
    meaning: str
    """What the setting means."""
    manual: str
    """Where the server's manual tells of it."""
    risk: Risk
    """What a wrong value can cost: committed data, the server's availability, or nothing but speed."""
    applies: Applies | Literal["fixed"]
    """What makes a new value active."""
    memory_bytes: float
    """What this change alone adds to the memory sum."""


class PredictionsAnswer(Answer):
    """What settings would give."""

    configuration: Values
    """The whole configuration, in the server's own units."""
    predictions: dict[str, PredictionAnswer]
    """By metric; empty where no model has seen any of the settings that change."""
    not_known: list[NotKnownAnswer]
    """The changes of which no model knows what they do: the predictions are of the others."""
    changes: list[ChangeAnswer]
    """What would change."""
    memory: MemoryAnswer
    """The server's memory with them, line by line."""
    refusal: RefusalAnswer | None
    """Why a recommendation of these settings would be refused: by the policy, a range, durability, memory or another
    rule; null where it would be let through."""
    warnings: list[str]
    """What else to know."""
    observations: int
    """How many readings the model was fitted to."""
    session: str | None
    """The session whose model answers."""
    fitted_at: datetime
    """When the model was fitted."""
    record: dict[str, RecordAnswer]
    """By metric, how often such intervals held until now, of those that were predicted before they were measured."""
    load: ForLoadAnswer | None = None
    """On a live database that was measured under several loads, the one that they are for; else null."""
