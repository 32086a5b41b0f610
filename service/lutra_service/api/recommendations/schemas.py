"""Recommendations and predictions, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from lutra_models.advice import SearchOrigin
from lutra_models.errors import codes
from lutra_models.knobs import Applies
from lutra_models.server import MemoryCount
from lutra_models.wire import Name, SettingValue
from pydantic import Field

from lutra_service.api.databases.schemas import Settings, Values
from lutra_service.api.http.body import Answer, Body
from lutra_service.api.recommendations.judgement_schemas import JudgementAnswer
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
    """Empty: the next recommendation of the open session. With `settings`: these settings, merged with the current ones
    and checked.
    """

    settings: Settings | None = None
    """An operator's own settings: texts with units, or numbers in the server's own unit."""
    approve: bool = False
    """With `settings`: approve the recommendation at once."""


class Approving(Body):
    """Empty: approve the whole recommendation."""

    settings: list[Name] | None = Field(default=None, max_length=500)
    """Approve only these changes."""
    reason: Why = None
    """With `settings`: the reason for leaving out the others."""


class TurningDown(Body):
    """Empty: without a reason."""

    reason: Why = None
    """The reason. A rejected change is not proposed again until the circumstances change."""


class StepAnswer(Answer):
    """A step for one setting: a statement for the server, or a line of a file that its agent maintains."""

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
    """In a readable form."""
    after_text: str
    """In a readable form."""
    applies: Applies
    """The step that activates the new value."""
    do: str
    """The statement that makes the change, followed by lines of a file under the file's name and section."""
    undo: str
    """The statement that undoes it, in the same form."""
    do_steps: list[StepAnswer]
    """The steps that the agent executes for `do`, in order."""
    undo_steps: list[StepAnswer]
    """The steps that the agent executes for `undo`, in order. Several changes are undone in the reverse order of
    `changes`.
    """


class LeftOutAnswer(Answer):
    """The accuracy of such intervals on past readings."""

    n: int
    """The number of readings so far."""
    held: int
    """The number of readings inside their interval when they were left out of the fit."""


class PredictionAnswer(Answer):
    """The prediction of one metric, including noise."""

    median: float
    """The median."""
    low: float
    """The interval's lower end."""
    high: float
    """The interval's upper end."""
    level: float
    """The probability that the interval contains the reading."""
    far: bool
    """Whether it extrapolates far beyond the measurements: the interval is then mostly prior."""
    unlike: list[str] = Field(default=[])
    """The settings whose values are unlike any measured ones."""
    without: list[str] = Field(default=[])
    """Changes that no model knows: the prediction is for the other settings without them."""
    record: LeftOutAnswer | None = None
    """The accuracy of such intervals on the model's own readings, each left out in turn; null if there is only one."""


class ReasonAnswer(Answer):
    """Why one setting changes."""

    setting: str
    """Its name."""
    before: SettingValue | None
    """In the server's own unit."""
    after: SettingValue
    """In the server's own unit."""
    sentence: str
    """The reason, in plain words."""
    effect: float | None
    """Its share of the predicted effect: 0.08 means 8 % better with it; null if nothing was learned yet."""
    against: str = ""
    """The reason against it; empty if none is known."""


class LookedAtAnswer(Answer):
    """The basis of a recommendation on a live database."""

    sentence: str
    """A summary of what was examined, and of the result."""
    symptoms: int
    """The number of evaluated symptoms."""
    shown: int
    """The number of symptoms that show a fault."""
    rules: int
    """The number of settings that were compared with the rule for this hardware."""
    windows: int
    """The number of windows on which the symptoms are based."""
    seconds: float
    """The total length of these windows."""
    least_gain: float
    """The smallest gain, as a share, that is proposed on the model's prediction alone."""
    predicted_gain: float | None
    """The largest probable gain according to the model, as a share; null without a model."""
    notes: list[str]
    """Changes that are not proposed, and why: a restart that the mode forbids, a problem that no setting cures, a
    change that was declined.
    """


class PastWorkloadAnswer(Answer):
    """A past workload that a recommendation uses."""

    workload: str
    """The id."""
    name: str | None
    """The name, if it belongs to this database or to none; null if it belongs to another database."""
    weight: float
    """The weight, from 0 to 1; weights sum to at most 1."""


class LeansOnAnswer(Answer):
    """The influence of past workloads on a recommendation."""

    workloads: list[PastWorkloadAnswer]
    """The workloads that it uses, in descending order of weight."""
    without: Values
    """The configuration that would have been proposed without past workloads, in the server's own units."""
    differs: list[str]
    """The settings whose values differ in it."""
    predictions: dict[str, PredictionAnswer]
    """By metric, the prediction for the recommended settings without past workloads."""
    sentence: str
    """The comparison in words."""


class ShareAnswer(Answer):
    """The share of the gain that a number of changed settings gives."""

    settings: int
    """The number of settings in this line and in all lines before it."""
    added: list[str]
    """The settings added in this line; the first lines contribute most."""
    share: float
    """Their predicted gain as a share of the gain of all settings. Above 1, fewer settings are better."""
    low: float
    """The lower end of the share's 90 % interval, by the model."""
    high: float
    """The upper end."""


class EndedEarlyAnswer(Answer):
    """The result of a window that was ended early: a bound instead of a value."""

    metric: str
    """The session's objective."""
    bound: float
    """The bound of the whole window's reading: at most this if more is better, otherwise at least this."""
    planned_s: float
    """The planned length of the window."""


class MemoryTermAnswer(Answer):
    """One line of the memory sum."""

    name: str
    """The user of the memory."""
    bytes: float
    """The counted bytes."""
    formula: str
    """The formula."""
    assumption: str
    """The assumption behind the formula."""
    worst_case_bytes: float
    """The bytes in the worst case, with everything full at once."""


class ConnectionsAnswer(Answer):
    """The connections that the memory sum counts."""

    counted: int | None
    """The number that the sum counts; null if the engine's sum does not count connections."""
    seen: int
    """The most connections seen at once; 0 if unknown."""
    most: int | None
    """The maximum number of open connections."""


class MemoryAnswer(Answer):
    """The server's memory, line by line."""

    terms: list[MemoryTermAnswer]
    """The lines of the sum."""
    total_bytes: float
    """The sum of the lines."""
    limit_bytes: float
    """The limit of the sum."""
    count: MemoryCount
    """The policy's method: the memory that can really be in use at once, or the worst case with everything full at
    once.
    """
    worst_case_bytes: float
    """The sum in the worst case, with everything full at once."""
    connections: ConnectionsAnswer
    """The counted connections."""


class FailureAnswer(Answer):
    """Why a recommendation was not carried out, or was undone."""

    code: Annotated[str, Field(json_schema_extra={"enum": [*codes()]})]
    """The code, for programs."""
    message: str
    """The message for people, often in the words of an agent or a server; may be empty."""
    by: Literal["agent", "service", "worker", "operator"]
    """The party that ended it: its agent (with its guards and its server), the service, the worker, or an operator."""


class RecommendationAnswer(Answer):
    """Recommended settings: the changes, the reasons, the predictions and the outcome."""

    id: str
    """The id."""
    database: str
    """The id of its database."""
    session: str | None
    """Its session; null if it has none."""
    parent: str | None
    """The recommendation that it is a part of, or undoes."""
    trial: int | None
    """Its number among the session's trials; null if it is not a trial."""
    kind: RecommendationKind
    """Its purpose: a trial, the session's end, an operator's choice, a part of another recommendation, an undo, or
    changes for a maintenance window.
    """
    origin: Origin | None
    """Which step proposed it; null while it is being computed."""
    state: RecommendationState
    """Its progress."""
    before: Values
    """The settings that were active when it was made, in the server's own units."""
    configuration: Values | None
    """The whole configuration, in the server's own units; null while it is being computed."""
    changes: list[ChangeAnswer] | None
    """The changes; null while it is being computed."""
    reasons: list[ReasonAnswer] | None
    """Why each setting changes; null while it is being computed."""
    predictions: dict[str, PredictionAnswer]
    """The predictions by metric; empty before there are readings to predict from."""
    curve: list[ShareAnswer]
    """The share of the predicted gain by number of settings, beginning with none; empty if no gain is predicted."""
    shortened_from: Values | None
    """The best configuration by posterior, if a measured one with fewer changes is nearly as good and was chosen."""
    must_reach: float | None
    """The reading that its window has to reach, or it is ended early. Null if it is measured to its end."""
    leans_on: LeansOnAnswer | None
    """The past workloads that it uses, and the alternative without them; null if it uses none."""
    looked_at: LookedAtAnswer | None
    """On a live database, its basis, or with the origin `nothing`, why nothing is worth changing. Otherwise null."""
    memory: MemoryAnswer | None
    """Its memory, line by line; null while it is being computed."""
    restart_needed: bool | None
    """Whether any of its changes needs a restart."""
    warnings: list[str] | None
    """Warnings to read before approving."""
    outcome: Document | None
    """The outcome that its agent reported; null before that."""
    measured: Measured | None
    """The readings by metric; null before it was measured."""
    ended_early: EndedEarlyAnswer | None
    """The bound that replaces the reading if its window was ended early; null if it was not."""
    judgement: JudgementAnswer | None
    """Outside a lab, its effect at comparable load, by the windows so far; null in a lab and before there are any."""
    failed: str | None
    """Why nothing was measured, once that is certain."""
    failure: FailureAnswer | None
    """Why it was rejected, withdrawn, refused or undone, or failed; null if it was not."""
    error: str | None
    """The failure in one line, for people; also set if somebody rejected it without a reason."""
    reason: str | None
    """Why it was rejected or undone, in the words of the person who did so; null if no reason was given."""
    waits: str | None
    """Why an approved recommendation is not carried out yet; null if nothing prevents it."""
    seed: int
    """The seed of its session."""
    key: str
    """A digest of the input: equal for the same history."""
    package_version: str
    """The version that computed it."""
    model: str | None
    """The model version that computed it, `mv_…`; null if nothing was computed."""
    created_at: datetime
    """When it was requested."""
    proposed_at: datetime | None
    """When it was ready for a decision."""
    decided_at: datetime | None
    """When it was approved or rejected."""
    decided_by: str | None
    """The token that decided; `automatic` if the session decided, `service` if the service itself did."""
    decided_by_name: str | None
    """That token's name; otherwise the same as `decided_by`."""
    applied_at: datetime | None
    """When its agent applied it."""
    confirmed_at: datetime | None
    """When it was confirmed: after that, it is no longer undone automatically."""
    expires_at: datetime | None
    """When the approval expires."""
    ended_at: datetime | None
    """When it was confirmed, undone or ended without effect."""
    undone_by: str | None
    """The actor that undid it: a guard, its agent, a token's name, the service, or an operator on the host."""
    handed_out_at: datetime | None
    """When its agent received it as a directive."""
    withdrawn_at: datetime | None
    """When it was withdrawn after its agent had received it: it is rolled back if it becomes active."""
    withdrawn_by: str | None
    """The actor that withdrew it."""
