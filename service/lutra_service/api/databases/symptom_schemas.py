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
    """A change of one setting that cures a symptom, within its range, the policy and the memory limit."""

    setting: str
    """Its name."""
    before: SettingValue
    """The active value, in the server's own unit."""
    before_text: str
    """The same as people write it."""
    after: SettingValue | None
    """The recommended value, as far as it is allowed; null if no value may be offered."""
    after_text: str | None
    """The same as people write it."""
    applies: Applies
    """How a new value becomes active."""
    reason: str
    """The purpose of the change."""
    set_by: str | None
    """The place where the active value was set; null if it is the server's default."""
    obstacle: str | None
    """The reason why no cure, or only a partial one, is offered."""
    unreached: str | None
    """The roles, databases or tablespaces with their own value, which the change does not reach; null if there are
    none.
    """


class RiskAnswer(Answer):
    """The acceptance of a finding: it comes last, and does not fail a check."""

    because: str
    """The reason."""
    until: datetime
    """When it counts again."""
    by: str
    """The name of the token that accepted it."""


class SymptomAnswer(Answer):
    """A symptom in the windows."""

    name: str
    """Its name."""
    kind: Kind
    """An outage, a danger, a setting at fault, time lost elsewhere, a setting that is large enough, or a note."""
    group: str
    """The group."""
    strength: float
    """The strength, from 0.3, where the symptom begins, to 1; always below 1 if the evidence is indirect."""
    sentence: str
    """The observation, with its numbers."""
    measured: float
    """The measure that `strength` comes from."""
    numbers: dict[str, SettingValue]
    """The numbers in the measure, the sentence and the cures, in bytes, milliseconds or without a unit."""
    settings: list[str]
    """The settings concerned."""
    cures: list[CureAnswer]
    """The recommended changes of the settings."""
    statements: list[str]
    """The statements for a person, if no cure may be offered."""
    threshold: str
    """The origin of its bounds."""
    source: str
    """The address of the origin."""
    follows: list[str]
    """Symptoms that can cause this one: their cures come first."""
    since: datetime | None
    """When it was first seen; null before the service has looked."""
    gone_at: datetime | None
    """When it was gone, if only older windows of the requested time have it."""
    accepted: RiskAnswer | None
    """The acceptance; null if it is not accepted."""


class NotJudgedAnswer(Answer):
    """A symptom of this server that cannot be judged because an input is missing."""

    name: str
    """Its name."""
    kind: Kind
    """The kind that it would have."""
    accepted: RiskAnswer | None
    """The acceptance; null if it is not accepted."""


class SymptomsAnswer(Answer):
    """The symptoms of a database, and the windows on which they are based."""

    start: datetime | None
    """The start of the windows; null if there are none."""
    end: datetime | None
    """The end of the windows."""
    windows: int
    """The number of windows."""
    seconds: float
    """The total length of the windows."""
    symptoms: list[SymptomAnswer]
    """Outages first, then dangers, then all others, the strongest first; accepted symptoms at the end."""
    evaluated: int
    """The number of judged symptoms."""
    not_judged: list[NotJudgedAnswer]
    """Symptoms of this server that cannot be judged because an input is missing."""


class EpisodeAnswer(Answer):
    """A finding that was seen without a gap of more than an hour."""

    id: str
    """The id."""
    name: str
    """The symptom's name."""
    kind: Kind
    """Its kind when it was last seen."""
    strength: float
    """Its strength at that time."""
    sentence: str
    """Its sentence at that time."""
    since: datetime
    """When it was first seen."""
    last_seen: datetime
    """When it was last seen."""
    gone_at: datetime | None
    """When it was first found to be gone; null while it is current."""


class AcceptBody(Body):
    """The acceptance of a risk: a reason and an end."""

    because: Reason
    """The reason, shown beside the finding."""
    until: Moment
    """The moment from which the finding counts again."""


class AcceptedAnswer(Answer):
    """An accepted finding."""

    name: str
    """The symptom's name."""
    kind: Kind
    """The symptom's kind at that time: the symptom counts again once its kind is worse."""
    because: str
    """The reason."""
    until: datetime
    """The moment from which the finding counts again."""
    accepted_at: datetime
    """When it was accepted."""
    accepted_by: str
    """The name of the token."""
