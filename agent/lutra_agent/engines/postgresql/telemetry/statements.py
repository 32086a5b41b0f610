"""pg_stat_statements, in any schema, with the columns of its version."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lutra_agent.engines.common.answers import certain, number
from lutra_agent.engines.common.telemetry import Latency, Targets
from lutra_agent.engines.postgresql.server.connect import TAG, Connection, quoted
from lutra_agent.errors import CollectionFailed

P99 = 0.99
HALVINGS = 60
EXTENSION = (
    "SELECT extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = %s"
)
TRACKS = "SELECT current_setting('pg_stat_statements.track', true), current_setting('compute_query_id', true)"
NOT_CONVERTED = "[22021]"
"""SQLSTATE of a text in a wrong encoding: character_not_in_repertoire."""
OWN_REFRESH = 60
"""The agent looks for its own statements again after this many samples: reading texts is the expensive part of the
view.
"""


@dataclass(frozen=True)
class StatementRow:
    """One statement's counters since their start; times in ms. `jit_ms` is None if the server does not report it."""

    calls: int
    total_ms: float
    stddev_ms: float
    jit_ms: float | None = None


@dataclass(frozen=True)
class StatementDelta:
    """One statement's executions within a window; `stddev_ms` is the population's."""

    calls: int
    mean_ms: float
    stddev_ms: float
    jit_ms: float | None = None


def deltas(before: Mapping[object, StatementRow], after: Mapping[object, StatementRow]) -> list[StatementDelta]:
    """The differences between two readings, statement by statement.

    A statement whose counters went back was evicted and reappeared: all its counts are of this window.
    """
    return [d for key, row in after.items() if (d := _delta(before.get(key), row)) is not None]


def estimate_p99_ms(rows: Sequence[StatementDelta]) -> float | None:
    """The 99th percentile of a mixture of log-normals, in ms; None without a single execution."""
    parts = list(_log_normals(rows))
    if not parts:
        return None
    calls = sum(weight for weight, _, _ in parts)
    low = min(mu - 10 * sigma for _, mu, sigma in parts)
    high = max(mu + 10 * sigma for _, mu, sigma in parts)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if sum(weight * _below(middle, mu, sigma) for weight, mu, sigma in parts) >= P99 * calls:
            high = middle
        else:
            low = middle
    return math.exp(high)


def _delta(old: StatementRow | None, new: StatementRow) -> StatementDelta | None:
    if old is None or new.calls < old.calls or new.total_ms < old.total_ms:
        old = StatementRow(0, 0.0, 0.0, 0.0)
    calls = new.calls - old.calls
    if calls <= 0:
        return None
    mean = (new.total_ms - old.total_ms) / calls
    # Chan et al.: the squared deviations of a union are those of its parts and the distance between their means.
    apart = mean - (old.total_ms / old.calls if old.calls else mean)
    squares = new.calls * new.stddev_ms**2 - old.calls * old.stddev_ms**2 - apart**2 * old.calls * calls / new.calls
    jit_ms = None if new.jit_ms is None else max(new.jit_ms - (old.jit_ms or 0.0), 0.0)
    return StatementDelta(calls, mean, math.sqrt(max(squares, 0.0) / calls), jit_ms)


def _log_normals(rows: Sequence[StatementDelta]) -> Iterator[tuple[int, float, float]]:
    """(calls, mu, sigma) of each statement that ran."""
    for row in rows:
        if row.calls > 0 and row.mean_ms > 0:
            variance = math.log1p((row.stddev_ms / row.mean_ms) ** 2)
            yield row.calls, math.log(row.mean_ms) - variance / 2, math.sqrt(variance)


def _below(log_ms: float, mu: float, sigma: float) -> float:
    if sigma < 1e-9:
        return 1.0 if log_ms >= mu else 0.0
    return 0.5 * math.erfc((mu - log_ms) / (sigma * math.sqrt(2)))


@dataclass(frozen=True)
class Statements:
    """One reading. `epoch` changes with a reset of the whole view."""

    rows: Mapping[object, StatementRow]
    epoch: str


@dataclass(frozen=True)
class StatementsView:
    """The schema of the extension, and the columns of its version."""

    schema: str
    version: tuple[int, ...]

    @property
    def rows_query(self) -> str:
        modern = self.version >= (1, 8)
        total, spread = ("total_exec_time", "stddev_exec_time") if modern else ("total_time", "stddev_time")
        # Statements inside functions are counted within the statement that called them.
        toplevel = " WHERE toplevel" if self.version >= (1, 9) else ""
        columns = f"userid, dbid, queryid, calls, {total}, {spread}, {self._compiling}"
        return f"SELECT {columns} FROM {self.schema}.pg_stat_statements(false){toplevel}"  # noqa: S608

    @property
    def compiles(self) -> bool:
        """Whether it reports the time that went into compiling queries."""
        return self.version >= (1, 10)

    @property
    def _compiling(self) -> str:
        parts = ("generation", "inlining", "optimization", "emission")
        return " + ".join(f"jit_{part}_time" for part in parts) if self.compiles else "NULL"

    @property
    def epoch_query(self) -> str | None:
        if self.version < (1, 9):
            return None
        return f"SELECT stats_reset::text FROM {self.schema}.pg_stat_statements_info"  # noqa: S608

    @property
    def own_query(self) -> str:
        return f"SELECT queryid FROM {self.schema}.pg_stat_statements(true) WHERE position(%s in query) > 0"  # noqa: S608


def find(connection: Connection) -> StatementsView | None:
    """The extension in the agent's database; None if it is not created there or not loaded."""
    found = connection.rows(EXTENSION, ("pg_stat_statements",))
    if not found:
        return None
    version, schema = found[0]
    view = StatementsView(quoted(schema), tuple(int(p) for p in version.split(".")))
    try:
        # Really asked: with a condition that is never true the server would not call what is not loaded.
        connection.rows(view.rows_query + " LIMIT 1")
    except CollectionFailed:
        return None  # created, but the library is not in shared_preload_libraries
    return view


def uncounted(connection: Connection) -> str:
    """The setting because of which a loaded pg_stat_statements counts nothing; empty if it counts."""
    track, identifies = connection.row(TRACKS)
    if track == "none":
        return "pg_stat_statements.track = none"
    return "compute_query_id = off" if identifies == "off" else ""


class StatementsReader:
    """Reads the view and leaves out the agent's own statements, if their texts can be distinguished from those of
    others.
    """

    def __init__(self) -> None:
        self._own: frozenset[object] = frozenset()
        self._samples = 0
        self.problem = ""

    def read(self, connection: Connection, view: StatementsView) -> Statements:
        """Raises CollectionFailed if the server refuses, or counts nothing."""
        if setting := uncounted(connection):
            raise CollectionFailed(f"pg_stat_statements counts nothing: {setting}")
        if self._samples < 3 or self._samples % OWN_REFRESH == 0:
            self._find_own(connection, view)
        self._samples += 1
        epoch = str(connection.row(view.epoch_query)[0]) if view.epoch_query else ""
        rows = connection.rows(view.rows_query)
        return Statements(
            {
                (u, d, q): StatementRow(int(calls), certain(total), certain(spread), number(compiling))
                for u, d, q, calls, total, spread, compiling in rows
                if q not in self._own
            },
            epoch,
        )

    def _find_own(self, connection: Connection, view: StatementsView) -> None:
        """One text in another encoding fails the answer whole; the numbers are read without texts."""
        try:
            self._own, self.problem = frozenset(row[0] for row in connection.rows(view.own_query, (TAG,))), ""
        except CollectionFailed as error:
            if NOT_CONVERTED not in str(error):
                raise
            self.problem = f"statements: qps includes the agent's own statements, as a text cannot be read: {error}"


def targets(before: Statements, after: Statements, seconds: float) -> Targets:
    """qps and the estimated p99 between two readings; nothing across a reset."""
    if before.epoch != after.epoch:
        return Targets()
    ran = deltas(before.rows, after.rows)
    p99 = estimate_p99_ms(ran)
    return Targets(
        {"qps": sum(d.calls for d in ran) / seconds, **_compiled(ran, seconds)},
        None if p99 is None else Latency(p99, "estimated", "statement"),
    )


def _compiled(ran: Sequence[StatementDelta], seconds: float) -> dict[str, float]:
    """The time that went into compiling queries, and into executing them, that included; nothing before 1.10."""
    times = [d.jit_ms for d in ran if d.jit_ms is not None]
    if not times:
        return {}
    executing = sum(d.calls * d.mean_ms for d in ran)
    return {"statements.jit_ms_per_s": sum(times) / seconds, "statements.exec_ms_per_s": executing / seconds}
