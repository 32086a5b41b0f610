"""Recommendations and predictions, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from lutra_models.advice import SearchOrigin
from lutra_models.errors import codes
from lutra_models.evidence import Verdict
from lutra_models.knobs import Applies
from lutra_models.server import MemoryCount
from lutra_models.wire import Name, SettingValue
from pydantic import Field

from lutra_service.api.databases.schemas import Settings, Values
from lutra_service.api.http.body import Answer, Body
from lutra_service.common.documents import Document

RecommendationState = Literal[
    "observing",
    "computing",
    "proposed",
    "approved",
    "applied",
    "confirmed",
    "reverted",
    "rejected",
    "refused",
    "failed",
    "expired",
    "unneeded",
]
RecommendationKind = Literal["search", "verification", "handover", "manual", "subset", "rollback", "maintenance"]
Origin = SearchOrigin | Literal["handover", "baseline", "manual", "subset", "rollback"]
Measured = dict[str, float | str | None]
Why = Annotated[str | None, Field(max_length=1000)]


class NewRecommendation(Body):
    """Empty: the next one of the open session. With `settings`: these, merged with the current ones and checked."""

    settings: Settings | None = None
    """An operator's own settings: texts with units, or numbers in the server's own unit."""
    approve: bool = False
    """With `settings`: approve them at once."""


class Approving(Body):
    """Empty: the whole recommendation."""

    settings: list[Name] | None = Field(default=None, max_length=500)
    """Only these of its changes."""
    reason: Why = None
    """With `settings`: why the others are left out."""


class TurningDown(Body):
    """Empty: without a reason."""

    reason: Why = None
    """Why. What was turned down is not proposed again until something that it depended on has changed."""


class StepAnswer(Answer):
    """What is executed for one setting: a statement for the server, or a line of a file that its agent keeps."""

    text: str
    """The statement, or the line."""
    file: str
    """The key under which the agent's own file names the line's file; empty for a statement."""
    section: str
    """The line's section in that file; empty for a statement."""


class ChangeAnswer(Answer):
    """One setting that changes, with the exact statement and its undo."""

    setting: str
    """Its name."""
    before: SettingValue
    """In the server's own unit."""
    after: SettingValue
    """In the server's own unit."""
    before_text: str
    """As people write it."""
    after_text: str
    """As people write it."""
    applies: Applies
    """What makes the new value active."""
    do: str
    """The statement that makes the change; lines of a file follow it, under the file's name and section."""
    undo: str
    """The statement that undoes it, in the same form."""
    do_steps: list[StepAnswer] | None = None
    """What the agent executes for `do`, in order; null in a recommendation of an earlier version."""
    undo_steps: list[StepAnswer] | None = None
    """What the agent executes for `undo`, in order. Several changes are undone in the reverse order of `changes`."""


class LeftOutAnswer(Answer):
    """How good such intervals are on what was measured."""

    n: int
    """The number of readings until now."""
    held: int
    """So many of them lay inside their interval when they were predicted without themselves."""


class PredictionAnswer(Answer):
    """What one metric is predicted to be, noise included."""

    median: float
    """As likely to be more as to be less."""
    low: float
    """The interval's lower end."""
    high: float
    """The interval's upper end."""
    level: float
    """The probability that the interval holds the reading."""
    far: bool
    """Far from all that was measured: the interval is mostly prior."""
    unlike: list[str] = Field(default=[])
    """The settings to whose values nothing like it was measured."""
    without: list[str] = Field(default=[])
    """Changes of which no model knows anything: this is what the other settings would give without them."""
    record: LeftOutAnswer | None = None
    """How good such intervals are on the model's own readings, each left out in turn; null where there is but one."""


class ReasonAnswer(Answer):
    """Why one setting changes."""

    setting: str
    """Its name."""
    before: SettingValue | None
    """In the server's own unit."""
    after: SettingValue
    """In the server's own unit."""
    sentence: str
    """Why, in plain words."""
    effect: float | None
    """Its share of the predicted effect: 0.08 is 8 % better with it; null where nothing was learned yet."""
    against: str = ""
    """What speaks against it; empty where nothing is known to."""


class LookedAtAnswer(Answer):
    """What a recommendation on a live database rests on."""

    sentence: str
    """What was looked at, and what came of it."""
    symptoms: int
    """How many symptoms could be evaluated."""
    shown: int
    """How many of them show a fault."""
    rules: int
    """How many settings were compared with the rule for this hardware."""
    windows: int
    """How many windows the symptoms rest on."""
    seconds: float
    """How long these are in all."""
    least_gain: float
    """What a gain by the model alone has to come to, as a share, to be proposed."""
    predicted_gain: float | None
    """The largest gain that the model holds to be probable, as a share; null without a model."""
    notes: list[str]
    """What is not proposed, and why: a restart that the mode forbids, what no setting cures, what was turned down."""


class PastWorkloadAnswer(Answer):
    """A past workload that a recommendation uses."""

    workload: str
    """Its id."""
    name: str | None
    """Its name, where it is the database's own or belongs to none; null for another database's."""
    weight: float
    """How far it is believed, from 0 to 1; what is missing to 1 over all is believed of none."""


class LeansOnAnswer(Answer):
    """What a recommendation owes to past workloads."""

    workloads: list[PastWorkloadAnswer]
    """Those that it uses, the weightiest first."""
    without: Values
    """The configuration that would have been proposed without any of them, in the server's own units."""
    differs: list[str]
    """The settings that have another value in it."""
    predictions: dict[str, PredictionAnswer]
    """By metric, what the settings of the recommendation are predicted to give without past workloads."""
    sentence: str
    """All of this in words."""


class ShareAnswer(Answer):
    """What so many of the settings that change give."""

    settings: int
    """How many: those of this line and of all lines before it."""
    added: list[str]
    """The settings that come in here; the first ones earn most."""
    share: float
    """What they are predicted to give, as a share of what all of them are. Above 1: fewer would do better."""
    low: float
    """The lower end of the share's 90 % interval, by the model."""
    high: float
    """The upper end."""


class ComparisonAnswer(Answer):
    """Windows after changes on a live database against windows before them, at like load."""

    metric: str
    """What is judged: the session's objective, without a session p99."""
    verdict: Verdict
    """Whether it got better or worse, that no difference is seen, or that too few windows are at like load."""
    before: int
    """How many windows from before count."""
    after: int
    """How many windows since count."""
    left_out: int
    """How many do not, as they were under another load than all of the other side."""
    busy: int
    """In how many of those that count the host was busy with something else: they weigh less."""
    ratio: float | None
    """After over before, at like load; null where too few windows are."""
    low: float | None
    """The interval's lower end."""
    high: float | None
    """The interval's upper end."""
    level: float
    """The probability that the interval holds the ratio."""
    rate_of: str | None
    """Which metric says what clients asked for; null where none does."""
    rate_low: float | None
    """The smallest rate among the windows that count."""
    rate_high: float | None
    """The largest one."""
    sentence: str
    """All of this in words."""


class JudgementAnswer(ComparisonAnswer):
    """What a change on a live database did: windows after it against windows before, at like load."""

    follows: str = ""
    """What may be done about it, in words: how to undo a loss, and what a change costs of which no difference is seen.
    Empty where that is nothing."""
    together: ComparisonAnswer | None = None
    """The same of all changes of its session until this one; null where it is the only one."""


class EndedEarlyAnswer(Answer):
    """What a window says that was ended before its time: a bound, and no value."""

    metric: str
    """The session's objective."""
    bound: float
    """The whole window would have read at most this where more is better, else at least this."""
    planned_s: float
    """How long the whole window was to be."""


class MemoryTermAnswer(Answer):
    """One line of the memory sum."""

    name: str
    """What takes the memory."""
    bytes: float
    """How much of it counts."""
    formula: str
    """How that is computed."""
    assumption: str
    """What has to be true for it."""
    worst_case_bytes: float | None = None
    """How much it takes with everything full at once; null in what an earlier version stored."""


class ConnectionsAnswer(Answer):
    """The connections that the memory sum counts."""

    counted: int | None
    """So many; null where the engine's sum counts none."""
    seen: int
    """The most that were seen at once; 0 where unknown."""
    most: int | None
    """As many as may be open."""


class MemoryAnswer(Answer):
    """The server's memory, line by line."""

    terms: list[MemoryTermAnswer]
    """Its lines."""
    total_bytes: float
    """Their sum."""
    limit_bytes: float
    """What the sum may be at most."""
    count: MemoryCount = "worst_case"
    """What the policy counts: what can really be in use at once, or everything full at once."""
    worst_case_bytes: float | None = None
    """The sum with everything full at once; null in what an earlier version stored."""
    connections: ConnectionsAnswer | None = None
    """The connections that it counts; null in what an earlier version stored."""


class FailureAnswer(Answer):
    """Why a recommendation came to nothing, or was undone."""

    code: Annotated[str, Field(json_schema_extra={"enum": [*codes()]})]
    """What a program goes by."""
    message: str
    """For people, often with the words of an agent or a server; may be empty."""
    by: Literal["agent", "service", "worker", "operator"]
    """Who ended it: its agent, with its guards and its server; the service; who computed it; an operator."""


class RecommendationAnswer(Answer):
    """Settings to try: what changes, why, what it should give, and what became of it."""

    id: str
    """Its id."""
    database: str
    """The id of its database."""
    session: str | None
    """The session that it belongs to; null where it belongs to none."""
    parent: str | None
    """The recommendation that it is a part of, or undoes."""
    trial: int | None
    """Its number among the session's trials; null where it is none."""
    kind: RecommendationKind
    """Its purpose: a trial, the session's end, an operator's choice, a part of another, an undo, or what a maintenance
    window is needed for."""
    origin: Origin | None
    """Which step proposed it; null while it is being computed."""
    state: RecommendationState
    """Its progress."""
    before: Values
    """The settings that were active when it was made, in the server's own units."""
    configuration: Values | None
    """The whole configuration, in the server's own units; null while it is being computed."""
    changes: list[ChangeAnswer] | None
    """What it changes; null while it is being computed."""
    reasons: list[ReasonAnswer] | None
    """Why each setting changes; null while it is being computed."""
    predictions: dict[str, PredictionAnswer]
    """By metric, what it should give; empty before there is anything to predict from."""
    curve: list[ShareAnswer]
    """What share of the predicted gain few settings give, from none on; empty where no gain is predicted."""
    shortened_from: Values | None
    """The best by posterior, where one that was measured too does nearly as well with fewer changes."""
    must_reach: float | None
    """What its window has to come to so as not to be ended early; null where it is measured to its end."""
    leans_on: LeansOnAnswer | None
    """The past workloads that it uses, and what it would be without them; null where it uses none."""
    looked_at: LookedAtAnswer | None
    """On a live database, what it rests on; with the origin `nothing`, why nothing is worth changing. Else null."""
    memory: MemoryAnswer | None
    """Its memory, line by line; null while it is being computed."""
    restart_needed: bool | None
    """Whether any of its changes needs a restart."""
    warnings: list[str] | None
    """What else to know before approving."""
    outcome: Document | None
    """The outcome that its agent reported; null before that."""
    measured: Measured | None
    """By metric, what it gave; null before it was measured."""
    ended_early: EndedEarlyAnswer | None
    """Where its window was ended early, the bound that it gave instead; null where it was not."""
    judgement: JudgementAnswer | None
    """Outside a lab, what it changed at like load, by the windows until now; null in a lab and before there are any."""
    failed: str | None
    """Why nothing was measured, once that is certain."""
    failure: FailureAnswer | None
    """Why it was rejected, withdrawn, refused or undone, or failed; null where it was not."""
    error: str | None
    """The same in one line, for people; null also where somebody rejected it without a word."""
    reason: str | None
    """Why it was turned down or undone, in the words of who did that; null where nobody gave a reason."""
    waits: str | None
    """Why an approved one is not carried out yet; null where nothing is in its way."""
    seed: int
    """The seed of its session."""
    key: str
    """A digest of the question: the same history asks the same."""
    package_version: str
    """The version that computed it."""
    model: str | None
    """The model version that computed it, `mv_…`; null where nothing was computed, or by an earlier service."""
    created_at: datetime
    """When it was asked for."""
    proposed_at: datetime | None
    """When it was there to be decided."""
    decided_at: datetime | None
    """When it was approved or rejected."""
    decided_by: str | None
    """The token that decided; `automatic` where the session did, `service` where the service itself did."""
    decided_by_name: str | None
    """That token's name; else as `decided_by`."""
    applied_at: datetime | None
    """When its agent made it active."""
    confirmed_at: datetime | None
    """When it was confirmed: from then on no lapse of time undoes it."""
    expires_at: datetime | None
    """Until when the approval lasts."""
    ended_at: datetime | None
    """When it ended: was confirmed, undone, or came to nothing."""
    undone_by: str | None
    """Who undid it, where it was undone: a guard, its agent, a token by its name, the service, or an operator on the
    host."""
    handed_out_at: datetime | None
    """Since when its agent has it as a directive."""
    withdrawn_at: datetime | None
    """When it was withdrawn while its agent had it: it is rolled back if it becomes active."""
    withdrawn_by: str | None
    """Who withdrew it."""
