"""Workloads, as answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lutra_models.knobs import Value
from lutra_models.metrics import Goal

from lutra_service.api.http.body import Answer
from lutra_service.common.documents import Document


class EffectAnswer(Answer):
    """The effect of one setting on a metric, with the others as they were measured: a curve relative to the value at
    which the workload began.
    """

    setting: str
    """The setting."""
    baseline: Value
    """The value at which the workload began, one of `values`. Gains are relative to it."""
    values: list[Value]
    """The setting's values, in the server's own unit, in ascending order; for a choice, its options."""
    gains: list[float]
    """At each value, the improvement of the metric over the baseline (negative if it is worse), in the metric's unit or
    its logarithm.
    """
    deviations: list[float]
    """The standard deviation of each gain, in the same unit."""
    deviation: float
    """The standard deviation of the curve around its mean, in the same unit."""
    serves: list[float] | None = None
    """The ends of the sensible part of the range for such a host, if values outside it were measured."""
    chance: float
    """The probability that a setting without any effect looks as strong in such a table, found by permuting the
    readings. It applies to all settings together.
    """
    certain: bool
    """Whether the setting had an effect, at a false discovery rate of 5 %, and the 90 % interval of its largest change
    from the baseline excludes 0.
    """
    best: Value
    """The sensible value with the greatest gain."""
    gain: float
    """The gain at `best`; 0 if the baseline is best."""
    low: float
    """The low end of the gain's 90 % interval."""
    high: float
    """The high end of the gain's 90 % interval."""
    log: bool = False
    """Whether the values are spaced by their logarithms."""
    choice: bool = False
    """Whether the values are options."""
    special: int = 0
    """The number of special values at the end, such as 0 for `off`, which are not part of the curve."""


class LessonAnswer(Answer):
    """The lessons of a workload about one metric."""

    log: bool
    """Whether all values are on the logarithm of the metric: then a difference of 0.1 is about 10 %."""
    goal: Goal
    """Whether more or less of the metric is better."""
    low: float
    """The least reading."""
    high: float
    """The greatest reading."""
    rest: float
    """The residual variance of the readings."""
    effects: list[EffectAnswer]
    """The effect of each setting: certain ones first, in descending order of strength. Settings that never varied are
    left out.
    """


class WorkloadAnswer(Answer):
    """The result of a session, or of an imported data set, from which other sessions learn."""

    id: str
    """The id."""
    name: str
    """The database's name."""
    engine: str
    """The engine; only workloads of one engine are compared."""
    metric: str
    """The objective's metric."""
    database: str | None
    """The database; null for a data set without one."""
    session: str | None
    """The session that produced the workload and has its history."""
    observations: int
    """The number of configurations that were measured or failed."""
    created_at: datetime
    """When it was created."""
    changed_at: datetime
    """When it last changed."""
    teaches: bool
    """Whether other sessions can learn from it: it was fitted and not merged into another workload."""
    merged_into: str | None
    """The equivalent workload of the same database into which it was merged."""
    signature: dict[str, list[float]]
    """The deciles of each counter that distinguishes workloads, from the least to the greatest reading; empty before it
    was fitted.
    """
    context: dict[str, Value]
    """The circumstances: version, hardware, load and the like."""
    lessons: dict[str, LessonAnswer]
    """The lessons by metric, the objective's first; empty before it was fitted."""


class AlikeAnswer(Answer):
    """A workload that resembles the requested one."""

    workload: str
    """The id."""
    name: str
    """The name of its database."""
    distance: float
    """The distance between signatures, levels and circumstances; 0 means none."""
    agreement: float | None
    """How well its effects rank the measurements of the requested workload: the mean probability of each comparison,
    from 0 to 1, where 0.5 is chance; null if there is nothing to compare.
    """


class AlikeAnswers(Answer):
    """The most similar workloads, the most similar first."""

    items: list[AlikeAnswer]
    """The workloads, without those whose counters lie outside the range of the requested one."""


class WorkloadHistoryAnswer(Answer):
    """The measurements of a workload: `lutra_models.serial.history_from_dict` turns them into a `History`."""

    format: int
    """The version of this document's format."""
    knobs: list[Document]
    """The settings that are searched, each with its domain."""
    objective: Document
    """The metric to improve."""
    limits: list[Document]
    """Limits on other metrics."""
    observations: list[Document]
    """Every measured or failed trial, in the order in which they were measured."""
    pending: list[dict[str, Value]]
    """Configurations that are proposed but not yet measured."""
    current: dict[str, Value] | None
    """The active configuration."""
    starts: list[dict[str, Value]]
    """Configurations to try early."""
    context: Document
    """The constant circumstances: version, hardware and the like."""
    answers: dict[str, list[list[Any]]]
    """For each setting, pairs of a requested number and the number that the server set."""
    baseline: dict[str, Value] | None
    """The configuration at the start of the session: changes are counted from it."""
    aim: Document | None
    """The readings from which `objective` is computed, under several loads."""
