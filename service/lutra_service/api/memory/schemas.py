"""Workloads, as answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lutra_models.knobs import Value
from lutra_models.metrics import Goal

from lutra_service.api.http.body import Answer
from lutra_service.common.documents import Document


class EffectAnswer(Answer):
    """What one setting did to a metric, the others as they were measured: one curve, over the value at which the
    workload began."""

    setting: str
    """The setting."""
    baseline: Value
    """The value at which the workload began: gains are over it. It is one of the values."""
    values: list[Value]
    """Its values, in the server's own unit, in ascending order; of a choice its options."""
    gains: list[float]
    """At each value, by how much the metric is better than at the baseline, and negative where it is worse: in the
    metric's unit, or of its logarithm."""
    deviations: list[float]
    """The deviation of the belief in each gain, in the same unit."""
    deviation: float
    """The deviation of the belief in the curve around its mean, in the same unit."""
    serves: list[float] | None = None
    """From … to: the part of the range that serves a server on such a host, where values outside it were measured."""
    chance: float
    """How probable it is that a setting without any effect looks as strong in such a table, which was found by
    permuting the readings; it holds for all settings together."""
    certain: bool
    """Whether the setting did something, at a false discovery rate of 5 %, and the 90 % interval of its largest change
    from the baseline lies on one side of 0."""
    best: Value
    """Of the values that serve, the one with the greatest gain."""
    gain: float
    """The gain at `best`: 0 where the baseline is best."""
    low: float
    """The low end of the gain's 90 % interval."""
    high: float
    """The high end of the gain's 90 % interval."""
    log: bool = False
    """Whether the values are spaced by their logarithms."""
    choice: bool = False
    """Whether the values are options."""
    special: int = 0
    """So many values at the end are special ones, such as 0 for `off`, which are no part of the curve."""


class LessonAnswer(Answer):
    """What a workload taught of one metric."""

    log: bool
    """Whether all of this is of the metric's logarithm: then a difference of 0.1 is about 10 %."""
    goal: Goal
    """Whether more or less of the metric is better."""
    low: float
    """The least reading."""
    high: float
    """The greatest reading."""
    rest: float
    """The variance of the readings that the sum of the effects does not explain."""
    effects: list[EffectAnswer]
    """What each setting did: those that are certain come first, and of these the strongest; none of a setting that was
    always the same."""


class WorkloadAnswer(Answer):
    """What a session, or an imported data set, left for others to learn from."""

    id: str
    """Its id."""
    name: str
    """The database's name."""
    engine: str
    """The engine; only workloads of one engine are compared."""
    metric: str
    """The objective's metric."""
    database: str | None
    """The database; null for a data set that belongs to none."""
    session: str | None
    """The session that it comes from: its history is that of the workload."""
    observations: int
    """How many configurations were measured, or failed."""
    created_at: datetime
    """When it became known."""
    changed_at: datetime
    """When something changed of it last."""
    teaches: bool
    """Whether others learn from it: it was fitted, and was not merged into another one."""
    merged_into: str | None
    """The workload of the same database that says the same, and stays in its place."""
    signature: dict[str, list[float]]
    """Of each counter that tells workloads apart, the deciles from the least to the greatest reading; empty before
    it was fitted."""
    context: dict[str, Value]
    """The circumstances: version, hardware, load and the like."""
    lessons: dict[str, LessonAnswer]
    """What it taught, by metric, the objective's first; empty before it was fitted."""


class AlikeAnswer(Answer):
    """A workload that resembles the one that was asked about."""

    workload: str
    """Its id."""
    name: str
    """Its database's name."""
    distance: float
    """How far signatures, levels and circumstances are apart; 0 is not at all."""
    agreement: float | None
    """How well its effects rank what was measured of the one that was asked about: the probability that they give to
    each comparison, from 0 to 1, where 0.5 is as good as tossing a coin; null where there is nothing to compare."""


class AlikeAnswers(Answer):
    """The workloads that are most alike, the most alike first."""

    items: list[AlikeAnswer]
    """The workloads. One whose counters lie outside what the other one ever showed is left out."""


class WorkloadHistoryAnswer(Answer):
    """What was measured of a workload: `lutra_models.serial.history_from_dict` makes a `History` of it."""

    format: int
    """The version of this document's format."""
    knobs: list[Document]
    """The settings that are searched, each with its domain."""
    objective: Document
    """What is to become better."""
    limits: list[Document]
    """What must hold besides."""
    observations: list[Document]
    """Every measured or failed trial, in the order in which they were measured."""
    pending: list[dict[str, Value]]
    """Configurations that are proposed and not yet measured."""
    current: dict[str, Value] | None
    """The configuration that is active."""
    starts: list[dict[str, Value]]
    """Configurations that are worth trying early."""
    context: Document
    """What was the same all along: version, hardware and the like."""
    answers: dict[str, list[list[Any]]]
    """By setting, pairs of a number that was asked for and the number that the server set."""
    baseline: dict[str, Value] | None
    """The configuration that was active when the session began: changes are counted from it."""
    aim: Document | None
    """What `objective` is computed from, under several loads."""
