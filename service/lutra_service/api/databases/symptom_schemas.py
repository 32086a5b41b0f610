"""Symptoms, as answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from lutra_models.knobs import Applies
from lutra_models.symptoms import Kind
from lutra_models.wire import Moment, SettingValue
from pydantic import StringConstraints

from lutra_service.api.http.body import Answer, Body

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]


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


class RiskAnswer(Answer):
    """That somebody accepts a finding: it comes last, and fails nothing."""

    because: str
    """Why."""
    until: datetime
    """When it counts again."""
    by: str
    """The name of the token that accepted it."""


class SymptomAnswer(Answer):
    """Something that the windows show."""

    name: str
    """Its name."""
    kind: Kind
    """An outage, a danger, a setting at fault, time lost elsewhere, a setting that is large enough, or a note."""
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
    statements: list[str]
    """What a person would execute, where no cure may be offered."""
    threshold: str
    """Where its bounds come from."""
    source: str
    """The address of that."""
    follows: list[str]
    """Symptoms that bring this one about: their cures come first."""
    since: datetime | None
    """Since when it shows; null before the service's first look at it."""
    gone_at: datetime | None
    """Since when it does not show any more, where older windows of the time asked for still have it."""
    accepted: RiskAnswer | None
    """Where somebody accepts it; null where it counts."""


class NotJudgedAnswer(Answer):
    """A symptom of this server of which something that it reads is missing."""

    name: str
    """Its name."""
    kind: Kind
    """What it would be."""
    accepted: RiskAnswer | None
    """Where somebody accepts it; null where it counts."""


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
    """Outages first, then dangers, then all others, the strongest first; at the end those that somebody accepts."""
    evaluated: int
    """How many symptoms could be judged."""
    not_judged: list[NotJudgedAnswer]
    """Symptoms of this server of which something that they read is missing."""


class EpisodeAnswer(Answer):
    """A finding that showed without a break of more than an hour."""

    id: str
    """Its id."""
    name: str
    """The symptom's name."""
    kind: Kind
    """Its kind when it was last seen."""
    strength: float
    """Its strength then."""
    sentence: str
    """What it said then."""
    since: datetime
    """When it was first seen."""
    last_seen: datetime
    """When it was last seen."""
    gone_at: datetime | None
    """When it was first not seen any more; null while it shows."""


class AcceptBody(Body):
    """Why a risk is taken, and until when."""

    because: Reason
    """Why; people read it beside the finding."""
    until: Moment
    """From then on it counts again."""


class AcceptedAnswer(Answer):
    """A finding that somebody accepts."""

    name: str
    """The symptom's name."""
    kind: Kind
    """Its kind then: it counts where it has become a worse one."""
    because: str
    """Why."""
    until: datetime
    """From then on it counts again."""
    accepted_at: datetime
    """When it was accepted."""
    accepted_by: str
    """The name of the token."""
