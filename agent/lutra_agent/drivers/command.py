"""Any command that puts load on the database and prints what its clients saw, as one JSON object on its last line.

`{"tps": 812.5, "qps": 4062.5, "p99_ms": 31.2, "p99_of": "transaction", "statement": "checkout"}`; other numbers in it
become metrics too. `window_start` and `window_end` (epoch seconds) may say what exactly was measured.
Lines such as `{"interval_s": 1, "tps": 790.0}`, one for each equal part of the window when it is over, let the window
be ended early.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeGuard, get_args

from lutra_models.ending import Level
from lutra_models.knobs import Value
from lutra_models.metrics import P99, P99Of
from lutra_models.wire import Name
from pydantic import TypeAdapter, ValidationError

from lutra_agent.config.section import Section, read
from lutra_agent.config.values import Argv, required, within
from lutra_agent.drivers.base import Measurement, Moment, nothing, utc
from lutra_agent.drivers.ending import MOST, Progress, Watch
from lutra_agent.drivers.process import Finished, Span, run
from lutra_agent.engines.common.database import Database, NamedDatabase
from lutra_agent.errors import DriverFailed

NAME: TypeAdapter[str] = TypeAdapter(Name)
AS_A_LIST = "a list such as ['./load.py', '--clients', '8']"
SHORTEST_S, LONGEST_S = 1e-3, 86_400
"""The least and the greatest length of a part of a window."""
"""The largest number that is a reading."""
TOLERANCE_S = 1.0
"""The tolerated error of the clock from which a command reads its window; a window never ends after the run."""


@dataclass(frozen=True)
class Options(Section):
    kind: str
    command: Annotated[Argv, required(AS_A_LIST)]
    warmup_s: Annotated[float, within(0, 86400)] = 10.0
    duration_s: Annotated[float, within(1, 86400)] = 60.0
    grace_s: Annotated[float, within(1, 86400)] = 60.0

    def __post_init__(self) -> None:
        if not self.command:
            raise ValueError(f"command is empty: {AS_A_LIST}")

    @property
    def span(self) -> Span:
        return Span(self.warmup_s, self.duration_s, self.grace_s)


class Command:
    """The command gets the address and the times from LUTRA_HOST, _PORT, _USER, _DBNAME, _WARMUP_S and _DURATION_S.

    It finds a password in `password_variable`, as the engine's own clients do.
    """

    name = "command"

    def __init__(self, options: Options, database: Database, password_variable: str) -> None:
        self.options = options
        self.database = database
        self.password_variable = password_variable

    @property
    def program(self) -> str:
        return self.options.command[0]

    def context(self) -> dict[str, Value]:
        return {"driver": self.name, "command": Path(self.options.command[0]).name}

    def run(
        self, on_window_start: Moment = nothing, on_window_end: Moment = nothing, must_reach: Level | None = None
    ) -> Measurement:
        span, name = self.options.span, Path(self.options.command[0]).name
        watch = None if must_reach is None else _watch(must_reach, span)
        finished = run(self.options.command, self._environment(), span, on_window_start, on_window_end, watch)
        if watch and watch.found:
            start_s = finished.started_s + span.warmup_s
            return Measurement(utc(start_s), utc(finished.ended_s), {}, "transaction", name, watch.found)
        return parse(finished, span.warmup_s, name)

    def _environment(self) -> dict[str, str]:
        d, span = self.database, self.options.span
        ours = {"HOST": d.host, "PORT": str(d.port), "USER": d.user}
        ours |= {"DBNAME": d.dbname} if isinstance(d, NamedDatabase) else {}
        ours |= {"WARMUP_S": f"{span.warmup_s:g}", "DURATION_S": f"{span.duration_s:g}"}
        password = d.password()
        secret = {} if password is None else {self.password_variable: password}
        return {**os.environ, **secret, **{f"LUTRA_{k}": v for k, v in ours.items()}}


def parse(finished: Finished, warmup_s: float, name: str) -> Measurement:
    """The measurement that the last line gives. Total: anything else raises DriverFailed."""
    printed = _last_object(finished.stdout, name)
    of = printed.pop("p99_of", None)
    statement = printed.pop("statement", name)
    numbers = {_name(k): _number(k, v) for k, v in printed.items()}
    start_s = numbers.pop("window_start", min(finished.started_s + warmup_s, finished.ended_s))
    stated_s = numbers.pop("window_end", finished.ended_s)
    end_s = min(stated_s, finished.ended_s)
    if of not in get_args(P99Of) and (of is not None or "p99_ms" in numbers):
        raise DriverFailed(f"{name}: p99_of must be one of {', '.join(get_args(P99Of))}, got {of!r}")
    if not {"tps", "qps", "p99_ms"} & numbers.keys():
        raise DriverFailed(f"{name}: none of tps, qps and p99_ms in {', '.join(numbers) or 'an empty object'}")
    if not start_s < end_s or stated_s > finished.ended_s + TOLERANCE_S or start_s < finished.started_s - TOLERANCE_S:
        raise DriverFailed(f"{name}: the window from {start_s} to {stated_s} is not within the run")
    known: P99Of = "transaction" if of is None else of
    return Measurement(utc(start_s), utc(end_s), numbers, known, str(statement))


def _watch(level: Level, span: Span) -> Watch | None:
    """Of anything that adds up over a window: its percentile is not one of its parts'."""
    if level.metric == P99.name:
        return None
    return Watch(level, span.duration_s, lambda out, _: progress(out, level.metric))


def progress(stdout: str, metric: str) -> Progress | None:
    """The readings of the window's parts so far, from the lines; None if the lines lack the metric, or contradict each
    other.
    """
    readings, lengths = [], set()
    for line in stdout.splitlines(keepends=True):
        printed = _object(line) if line.startswith("{") and line.endswith("\n") else None
        length, reading = (printed.get(key) if printed else None for key in ("interval_s", metric))
        if _is_within(length, SHORTEST_S, LONGEST_S) and _is_within(reading, 0, MOST):
            lengths.add(float(length))
            readings.append(float(reading))
    return Progress(readings, lengths.pop()) if len(lengths) == 1 else None


def _is_within(value: object, low: float, high: float) -> TypeGuard[float]:
    return isinstance(value, int | float) and low <= value <= high


def _object(line: str) -> Mapping[str, Any] | None:
    try:
        printed = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return printed if isinstance(printed, Mapping) else None


def _last_object(stdout: str, name: str) -> dict[str, Any]:
    lines = [line for line in stdout.splitlines() if line.strip()]
    printed = _object(lines[-1]) if lines else None
    if printed is None:
        raise DriverFailed(
            f"{name}: its last line is not a JSON object: {lines[-1][:200] if lines else 'it printed nothing'!r}"
        )
    return dict(printed)


def _name(key: str) -> str:
    try:
        return NAME.validate_python(key)
    except ValidationError as error:
        what = "letters, digits, '_', '.' and '-', the first a letter or '_', at most 128"
        raise DriverFailed(f"{key[:200]!r} is not a metric name: {what}") from error


def _number(key: str, value: object) -> float:
    number = not isinstance(value, bool) and isinstance(value, int | float)
    try:
        reading = float(value) if number else math.nan  # type: ignore[arg-type]
    except OverflowError:
        reading = math.inf
    if not 0 <= reading <= MOST:
        raise DriverFailed(f"{key}: expected a number from 0 to 1e18, got {str(value)[:80]!r}")
    return reading


def build(table: Mapping[str, Any], database: Database, password_variable: str) -> Command:
    return Command(read(Options, table, "driver"), database, password_variable)
