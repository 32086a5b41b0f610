"""Tuning sessions, their trials and their histories, as requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from lutra_models.aims import MOST_LOADS, Over
from lutra_models.history import Approval, Mode
from lutra_models.identity import Identity
from lutra_models.metrics import Goal, P99Of, P99Source
from lutra_models.verification import ROUNDS, FinalistName
from lutra_models.wire import LoadName, Name
from pydantic import Field

from lutra_service.api.databases.guardrail_schemas import EventAnswer
from lutra_service.api.databases.schemas import Values
from lutra_service.api.http.body import Answer, Body
from lutra_service.api.memory.schemas import WorkloadHistoryAnswer
from lutra_service.api.recommendations.schemas import (
    ChangeAnswer,
    EndedEarlyAnswer,
    Measured,
    MemoryAnswer,
    Origin,
    PredictionAnswer,
    ReasonAnswer,
    RecommendationState,
    ShareAnswer,
)
from lutra_service.common.documents import Document

SessionState = Literal["running", "settled", "paused", "completed", "stopped", "undone"]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class ObjectiveBody(Body):
    """What is to become better."""

    metric: Name
    """A metric that is measured on the database, such as `p99_ms` or `qps`."""
    goal: Goal
    """Which way is better."""


class LimitBody(Body):
    """What must hold besides: at most or at least, one of the two."""

    metric: Name
    """A metric that is measured on the database."""
    at_most: Finite | None = None
    """In the metric's unit."""
    at_least: Finite | None = None
    """In the metric's unit."""


class LoadBody(Body):
    """One of several loads that a lab's trials are measured under."""

    name: LoadName
    """Its name in the agent's file."""
    weight: float = Field(default=1.0, gt=0, le=1e6, allow_inf_nan=False)
    """How much it counts, in proportion to the others'."""


class NewSession(Body):
    """A tuning session to open."""

    objective: ObjectiveBody
    """The metric, and which way is better."""
    limits: list[LimitBody] = Field(default=[], max_length=20)
    """What must hold besides."""
    mode: Mode = "observe"
    """The most that is asked for; the agent's own file caps it."""
    approval: Approval = "manual"
    """Whether each recommendation waits for somebody, or trials follow each other by themselves."""
    max_trials: int = Field(default=30, ge=1, le=1000)
    """How many trials at most."""
    verification_rounds: int = Field(default=ROUNDS, ge=0, le=100)
    """In a lab, how often each finalist is measured at most before the handover, after the trials and beside
    `max_trials`; it takes three to tell a gain. 0 hands over what the model names, unverified."""
    max_changes: int | None = Field(default=None, ge=1, le=500)
    """How many settings a recommendation may change at most, counted from the session's begin; null for any."""
    exploration: int = Field(default=0, ge=0, le=1000)
    """On a live database, how many trials may be made only to learn what settings do. In a lab all of them may."""
    loads: list[LoadBody] = Field(default=[], max_length=MOST_LOADS)
    """In a lab, the loads that each trial is measured under, one after the other; empty for the driver's own load."""
    aim: Over = "weighted"
    """With `loads`, what is to become better: the weighted geometric mean of the objective's ratios to the baseline's
    readings under each load, or the worst of these ratios."""
    seed: int = Field(default=0, ge=0, le=2**53)
    """The same seed and the same measurements give the same recommendations."""


class GainAnswer(Answer):
    """How much better than another finalist, as a share of that one's reading: .08 is 8 % better.

    With 90 %, three more rounds of both come to something from `low` to `high`; the true gain is in it, too."""

    median: float
    """The middle of what was read in turns."""
    low: float
    """The least that three more rounds would come to."""
    high: float
    """The most."""


class FinalistAnswer(Answer):
    """A configuration that the session may hand over."""

    name: FinalistName
    """`best` is what the model names, `baseline` what was active when the session began."""
    recommendation: str | None
    """The latest recommendation that measured it; null before the first."""
    configuration: Values
    """The whole configuration, in the server's own units."""
    changed_settings: int
    """How many settings it has other than the baseline."""
    readings: list[dict[str, float]]
    """By round and metric, what was read."""
    failed: str | None
    """Why it is handed over in no case, where that is so."""
    gains: dict[FinalistName, GainAnswer]
    """By finalist, the gain over that one; empty before the third round. Under several loads that of the aim."""
    gains_by_load: dict[FinalistName, dict[str, GainAnswer]] = Field(default={})
    """By finalist and load, the gain over that one under that load alone; empty without several loads."""


class VerificationAnswer(Answer):
    """The end of a lab's session: its finalists, measured in turns until it is known what to hand over."""

    rounds: int
    """How many were begun."""
    finalists: list[FinalistAnswer]
    """Each of another configuration."""
    verdict: FinalistName | None
    """Which of them is handed over; null while it is not known."""
    sentence: str
    """What was found, with the gains and what three more rounds would read; empty while it is not known."""


class LeaningAnswer(Answer):
    """Whether past workloads help a session: the log score of its forecasts with them, less that without, over trials
    that used some."""

    trials: int
    """How many of them were measured."""
    mean: float
    """The mean difference; above 0 the past helps."""
    low: float | None
    """The lower end of its interval; null where there are too few trials for one."""
    high: float | None
    """The upper end."""
    level: float
    """The probability that the interval holds the true difference, however often somebody looks."""
    verdict: Literal["better", "worse", "undecided"]
    """`better`: the past helps; `worse`: it harms, and the session uses it no longer."""
    sentence: str
    """All of this in words."""


class SessionAnswer(Answer):
    """A tuning session and its progress."""

    id: str
    """Its id."""
    database: str
    """The id of its database."""
    state: SessionState
    """`running` and `paused` are open; `completed` and `stopped` are ended."""
    objective: ObjectiveBody
    """The metric, and which way is better."""
    limits: list[LimitBody]
    """What must hold besides."""
    mode: Mode
    """The most that was asked for."""
    effective_mode: Mode
    """The weaker of `mode` and the most that the agent's own file allows."""
    approval: Approval
    """Whether each recommendation waits for somebody."""
    max_trials: int
    """How many trials at most."""
    verification_rounds: int | None
    """How often each finalist is measured at most before the handover; null in a session of an earlier version."""
    max_changes: int | None
    """How many settings a recommendation may change at most, counted from `baseline`; null for any."""
    exploration: int | None
    """How many trials may be made only to learn what settings do; null in a session of an earlier version."""
    loads: list[LoadBody]
    """The loads that each trial is measured under; empty for the driver's own load."""
    aim: Over | None
    """What is to become better over `loads`; null without them."""
    seed: int
    """The seed that it was opened with."""
    trials_done: int
    """How many were measured, or tried and failed."""
    current: str | None
    """The recommendation that is being computed, decided, applied or measured."""
    incumbent: str | None
    """In a lab the best measured configuration that keeps the limits; elsewhere the latest change that was judged
    better at like load."""
    handover: str | None
    """What the session leaves the database with, once it is known."""
    for_maintenance_window: str | None
    """The recommendation that holds what needs a restart, while it waits for somebody or for its window; else null."""
    baseline: Values | None
    """The settings that were active when it began; null before the first report."""
    server: Identity | None
    """The server that it is for; null before the first report."""
    rebased_at: datetime | None
    """It began again then, on a server that had become another one."""
    p99_source: P99Source | None
    """The only source of `p99_ms` that is used; null before the first p99, and under several loads, which are a
    driver's."""
    p99_of: P99Of | None
    """What its `p99_ms` is the latency of."""
    message: str
    """Why it paused or settled, what it observes or waits for, or how it ended and what became of that; then what its
    last change did, and all of them together, by the windows until now. Empty where there is nothing to say."""
    opened_by_agent: bool
    """Whether an agent's token opened it: its trials are for that agent in mode lab alone."""
    measured_under: str | None
    """Under which loads what it handed over was measured, and that it was under no others; null before the handover and
    outside a lab."""
    verification: VerificationAnswer | None
    """How the configurations that it may hand over compare; null before its trials are done and outside a lab."""
    leaning: LeaningAnswer | None
    """Whether the past workloads that it uses help it; null before the first measured trial that used some."""
    events: list[EventAnswer]
    """Guards that fired, the newest first."""
    created_at: datetime
    """When it was opened."""
    ended_at: datetime | None
    """When it was completed or stopped."""


class TrialAnswer(Answer):
    """One configuration that was tried, and what came of it."""

    trial: int | None
    """Its number in the session, from 1."""
    recommendation: str
    """The id of its recommendation."""
    state: RecommendationState
    """Its progress."""
    origin: Origin | None
    """Which step of the search proposed it; null while it is being computed."""
    configuration: Values | None
    """The whole configuration, in the server's own units; null while it is being computed."""
    changes: list[ChangeAnswer] | None
    """What it changes; null while it is being computed."""
    reasons: list[ReasonAnswer] | None
    """Why each setting changes; null while it is being computed."""
    predictions: dict[str, PredictionAnswer]
    """By metric, what it was predicted to give; empty before there was anything to predict from."""
    curve: list[ShareAnswer]
    """What share of its predicted gain few settings give, from none on; empty where no gain was predicted."""
    measured: Measured | None
    """By metric, what it gave; null where nothing was measured."""
    ended_early: EndedEarlyAnswer | None
    """Where its window was ended early, the bound that it gave instead; null where it was not."""
    spent_s: float | None
    """The seconds from the directive to its end: change, warm-up and window; null before both."""
    failed: str | None
    """Why nothing was measured, once that is certain."""
    memory: MemoryAnswer | None
    """Its memory, line by line; null while it is being computed."""


class HistoryAnswer(WorkloadHistoryAnswer):
    """All that `recommend` knows of a session: `lutra_models.serial.history_from_dict` makes a `History` of it."""

    server: Document
    """The server, from which the memory rules follow."""
    policy: Document
    """The policy, from which the memory rules follow."""
