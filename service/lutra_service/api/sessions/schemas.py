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
from lutra_service.api.workloads.schemas import WorkloadHistoryAnswer
from lutra_service.common.documents import Document

SessionState = Literal["running", "settled", "paused", "completed", "stopped", "undone"]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class ObjectiveBody(Body):
    """The metric to improve."""

    metric: Name
    """A metric that is measured on the database, such as `p99_ms` or `qps`."""
    goal: Goal
    """The direction of improvement."""


class LimitBody(Body):
    """A limit on another metric: either at most or at least."""

    metric: Name
    """A metric that is measured on the database."""
    at_most: Finite | None = None
    """The upper limit, in the metric's unit."""
    at_least: Finite | None = None
    """The upper limit, in the metric's unit."""


class LoadBody(Body):
    """One of several loads under which a lab's trials are measured."""

    name: LoadName
    """Its name in the agent's file."""
    weight: float = Field(default=1.0, gt=0, le=1e6, allow_inf_nan=False)
    """The weight relative to the other loads."""


class NewSession(Body):
    """A tuning session to open."""

    objective: ObjectiveBody
    """The metric and the direction of improvement."""
    limits: list[LimitBody] = Field(default=[], max_length=20)
    """Limits on other metrics."""
    mode: Mode = "observe"
    """The requested mode; the agent's own file limits it."""
    approval: Approval = "manual"
    """Whether each recommendation waits for a decision, or trials follow each other automatically."""
    max_trials: int = Field(default=30, ge=1, le=1000)
    """The maximum number of trials."""
    verification_rounds: int = Field(default=ROUNDS, ge=0, le=100)
    """In a lab, the maximum number of rounds of the final verification, in addition to `max_trials`; at least three are
    needed to detect a gain. 0 hands over the model's choice without verification.
    """
    max_changes: int | None = Field(default=None, ge=1, le=500)
    """The maximum number of settings that a recommendation may change, counted from the start of the session; null for
    any.
    """
    exploration: int = Field(default=0, ge=0, le=1000)
    """On a live database, the number of trials whose only purpose is to learn. In a lab all trials may be."""
    loads: list[LoadBody] = Field(default=[], max_length=MOST_LOADS)
    """In a lab, the loads under which each trial is measured, one after the other; empty for the driver's own load."""
    aim: Over = "weighted"
    """With `loads`, the quantity to improve: the weighted geometric mean of the objective's ratios to the baseline's
    readings under each load, or the worst of these ratios.
    """
    seed: int = Field(default=0, ge=0, le=2**53)
    """The same seed and the same measurements give the same recommendations."""


class GainAnswer(Answer):
    """The gain over another finalist, as a share of that one's reading: .08 is 8 % better. `low` to `high` is the 90 %
    interval for the gain that three more rounds would measure. It also covers the true gain.
    """

    median: float
    """The median of the alternating readings."""
    low: float
    """The lower end of the interval for three more rounds."""
    high: float
    """The upper end of the interval for three more rounds."""


class FinalistAnswer(Answer):
    """A configuration that the session can hand over."""

    name: FinalistName
    """`best` is the model's choice, `baseline` the configuration at the start of the session."""
    recommendation: str | None
    """The latest recommendation that measured it; null before the first."""
    configuration: Values
    """The whole configuration, in the server's own units."""
    changed_settings: int
    """The number of settings that differ from the baseline."""
    readings: list[dict[str, float]]
    """The readings, by round and metric."""
    failed: str | None
    """Why this configuration cannot be handed over; null if it can."""
    gains: dict[FinalistName, GainAnswer]
    """The gain over each other finalist; empty before the third round. Under several loads, the gain of the aim."""
    gains_by_load: dict[FinalistName, dict[str, GainAnswer]] = Field(default={})
    """The gain over each other finalist under each single load; empty without several loads."""


class VerificationAnswer(Answer):
    """The final verification of a lab session: its finalists, measured alternately until the result is certain."""

    rounds: int
    """The number of rounds begun."""
    finalists: list[FinalistAnswer]
    """The finalists, each with a different configuration."""
    verdict: FinalistName | None
    """The finalist that is handed over; null while it is not known."""
    sentence: str
    """The result with the gains and their intervals for three more rounds; empty while it is not known."""


class LeaningAnswer(Answer):
    """Whether past workloads help a session: the log score of its forecasts with them minus the log score without, over
    the trials that used some.
    """

    trials: int
    """The number of measured trials."""
    mean: float
    """The mean difference; above 0, the past helps."""
    low: float | None
    """The lower end of its interval; null if there are too few trials."""
    high: float | None
    """The upper end."""
    level: float
    """The probability that the interval contains the true difference, however often you look."""
    verdict: Literal["better", "worse", "undecided"]
    """`better`: the past helps. `worse`: the past harms, and the session no longer uses it."""
    sentence: str
    """The comparison in words."""


class SessionAnswer(Answer):
    """A tuning session and its progress."""

    id: str
    """The id."""
    database: str
    """The id of its database."""
    state: SessionState
    """`running` and `paused` are open; `completed` and `stopped` are ended."""
    objective: ObjectiveBody
    """The metric and the direction of improvement."""
    limits: list[LimitBody]
    """Limits on other metrics."""
    mode: Mode
    """The requested mode."""
    effective_mode: Mode
    """The weaker of `mode` and the mode that the agent's own file allows."""
    approval: Approval
    """Whether each recommendation waits for a decision."""
    max_trials: int
    """The maximum number of trials."""
    verification_rounds: int
    """The maximum number of verification rounds before the handover."""
    max_changes: int | None
    """The maximum number of settings that a recommendation may change, counted from `baseline`; null for any."""
    exploration: int
    """The number of trials whose only purpose is to learn."""
    loads: list[LoadBody]
    """The loads under which each trial is measured; empty for the driver's own load."""
    aim: Over | None
    """The quantity to improve over `loads`; null without them."""
    seed: int
    """The seed."""
    trials_done: int
    """The number of trials that were measured or failed."""
    current: str | None
    """The recommendation that is being computed, decided, applied or measured."""
    incumbent: str | None
    """In a lab, the best measured configuration that keeps the limits; elsewhere, the latest change that was judged
    better at comparable load.
    """
    handover: str | None
    """The final configuration of the session, once it is known."""
    for_maintenance_window: str | None
    """The recommendation with the changes that need a restart, while it waits for a decision or for its window;
    otherwise null.
    """
    baseline: Values | None
    """The settings at the start of the session; null before the first report."""
    server: Identity | None
    """The server; null before the first report."""
    rebased_at: datetime | None
    """When it started over because the server had changed."""
    p99_source: P99Source | None
    """The only source of `p99_ms` that the session uses; null before the first p99, and under several loads, where it
    is the driver.
    """
    p99_of: P99Of | None
    """The unit of work whose latency `p99_ms` is."""
    message: str
    """The status in words: why the session paused or settled, what it is waiting for, or how it ended; followed by the
    measured effect of its last change and of all changes so far. Can be empty.
    """
    opened_by_agent: bool
    """Whether an agent's token opened it: its trials are only for that agent, in mode lab."""
    measured_under: str | None
    """The loads under which the final configuration was measured, and a note that other loads were not; null before the
    handover and outside a lab.
    """
    verification: VerificationAnswer | None
    """The comparison of the configurations that it can hand over; null before its trials are done and outside a lab."""
    leaning: LeaningAnswer | None
    """Whether past workloads help the session; null before the first measured trial that used some."""
    events: list[EventAnswer]
    """Guards that fired, the newest first."""
    created_at: datetime
    """When it was opened."""
    ended_at: datetime | None
    """When it was completed or stopped."""


class TrialAnswer(Answer):
    """A trial: one configuration and its result."""

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
    """The changes; null while it is being computed."""
    reasons: list[ReasonAnswer] | None
    """Why each setting changes; null while it is being computed."""
    predictions: dict[str, PredictionAnswer]
    """The predictions by metric; empty before there were readings to predict from."""
    curve: list[ShareAnswer]
    """The share of the predicted gain by number of settings, beginning with none; empty if no gain was predicted."""
    measured: Measured | None
    """The readings by metric; null if nothing was measured."""
    ended_early: EndedEarlyAnswer | None
    """The bound that replaces the reading if its window was ended early; null if it was not."""
    spent_s: float | None
    """The seconds from the directive to its end: change, warm-up and window; null before both."""
    failed: str | None
    """Why nothing was measured, once that is certain."""
    memory: MemoryAnswer | None
    """Its memory, line by line; null while it is being computed."""


class HistoryAnswer(WorkloadHistoryAnswer):
    """The complete input of `recommend` for a session: `lutra_models.serial.history_from_dict` turns it into a
    `History`.
    """

    server: Document
    """The server, from which the memory rules follow."""
    policy: Document
    """The policy, from which the memory rules follow."""
