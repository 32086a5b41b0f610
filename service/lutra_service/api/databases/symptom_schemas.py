"""Symptoms, as answers."""

from __future__ import annotations

from datetime import datetime

from lutra_models.knobs import Applies
from lutra_models.symptoms import Kind
from lutra_models.wire import SettingValue

from lutra_service.api.http.body import Answer


class CureAnswer(Answer):
    """A change of one setting that a symptom speaks for, within its range, the policy and the memory limit."""

    setting: str
    """Its name."""
    before: SettingValue
    """The active value, in the server's own unit."""
    before_text: str
    """The same as people write it."""
    after: SettingValue | None
    """What the symptom asks for, as far as it may be; null where nothing may be offered."""
    after_text: str | None
    """The same as people write it."""
    applies: Applies
    """How a new value becomes active."""
    reason: str
    """What the change is for."""
    set_by: str | None
    """Where somebody has set the active value; null where it is the server's default."""
    obstacle: str | None
    """Why nothing, or no more, may be offered."""
    unreached: str | None
    """Who has a value of their own, which the change does not reach; null for nobody."""


class SymptomAnswer(Answer):
    """Something that the windows show."""

    name: str
    """Its name."""
    kind: Kind
    """A setting at fault, time lost elsewhere, or a setting that is large enough."""
    group: str
    """What it belongs to."""
    strength: float
    """From 0.3, where it begins, to 1; less than 1 at most where the evidence is indirect."""
    sentence: str
    """What was seen, with its numbers."""
    measured: float
    """The measure that `strength` comes from."""
    numbers: dict[str, SettingValue]
    """Numbers that the measure, the sentence and the cures are made of, in bytes, milliseconds or plain."""
    settings: list[str]
    """The settings that it speaks of."""
    cures: list[CureAnswer]
    """What it asks of them."""
    threshold: str
    """Where its bounds come from."""
    source: str
    """The address of that."""


class SymptomsAnswer(Answer):
    """The symptoms of a database and the windows that they rest on."""

    start: datetime | None
    """The first moment of the windows; null where there are none."""
    end: datetime | None
    """The last one."""
    windows: int
    """How many windows they are."""
    seconds: float
    """How long they are together."""
    symptoms: list[SymptomAnswer]
    """The strongest first."""
