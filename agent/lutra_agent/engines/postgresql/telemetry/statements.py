"""pg_stat_statements, in any schema, with the columns of its version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lutra_agent.engines.common.answers import certain, number
from lutra_agent.engines.common.telemetry import Latency, Targets
from lutra_agent.engines.postgresql.server.connect import TAG, Connection, quoted
from lutra_agent.engines.postgresql.telemetry.latency import StatementDelta, StatementRow, deltas, estimate_p99_ms
from lutra_agent.errors import CollectionFailed

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
