"""Executes a change. Its statements may keep the server busy for minutes; no other statement of the agent may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal

from lutra_models.catalog.statements import FileLine, Statement, Step
from lutra_models.catalog.statements.mysql import same, variable
from lutra_models.errors import ApplyCode

from lutra_agent.engines.common.source import Activation
from lutra_agent.engines.mysql.server.connect import CHANGE_TIMEOUT_S, Connection
from lutra_agent.engines.mysql.server.section import MysqlDatabase
from lutra_agent.engines.mysql.sources import include
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable

DENIED = ("[1044]", "[1045]", "[1142]", "[1227]", "[3630]")
PASSES = 3
"""The server clamps a value to another one that may be about to change: a clamped value is requested again."""

POOL = "innodb_buffer_pool_size"
RESIZING = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status%'"
RESIZE_POLLS = 10 * CHANGE_TIMEOUT_S
"""Ten a second."""
DONE = ("completed", "size did not change", "not started")
COMPLETE, FAILED = "0", "7"


class Changing(Activation):
    """Statements go over a separate connection with a longer time limit: a pool that shrinks has pages to write first.

    The everyday connection accounts for them, since the server counts them too. Lines go into `include_file`.
    """

    rounds = True

    def __init__(
        self,
        database: MysqlDatabase,
        everyday: Connection,
        now_s: Callable[[], float],
        include_file: Path | None = None,
    ) -> None:
        self._database = database
        self._include_file = include_file
        self._everyday = everyday
        self._now_s = now_s
        self._earlier: str | None = None

    def execute(self, steps: Sequence[Step]) -> None:
        """Executed in order. Raises ApplyRefused for the first statement that the server refuses, or does not finish in
        time.
        """
        wanted = {s.setting: s for s in steps if isinstance(s, Statement) and s.wanted is not None}
        self._earlier = None
        asks = any(isinstance(s, Statement) for s in steps)
        with self._patient() if asks else nullcontext(self._everyday) as connection:
            if POOL in wanted:
                self._earlier = _resize(connection)[1]
            for step in steps:
                self._run(connection, step)
            for _ in range(PASSES - 1 if len(wanted) > 1 else 0):
                for statement in [
                    s for s in wanted.values() if not same(_active(connection, s.setting), s.wanted or "")
                ]:
                    self._run(connection, statement)

    def reload(self) -> None:
        """Wait for a buffer pool that is being resized. Raises ApplyRefused if it does not reach the new size."""
        if self._earlier is None:
            return
        report = ""
        with self._patient() as connection:
            for _ in range(RESIZE_POLLS):
                state, report = _resize(connection)
                # The same words as before, their time included: of an earlier one, this one had nothing to do.
                if state == "failed" and report != self._earlier:
                    raise ApplyRefused(ApplyCode.INTERNAL_ERROR, f"{POOL}: {report}")
                if state != "under way":
                    return
                connection.rows("DO SLEEP(0.1)")
        raise ApplyRefused(
            ApplyCode.INTERNAL_ERROR, f"{POOL}: in progress for more than {CHANGE_TIMEOUT_S} s, at: {report}"
        )

    @contextmanager
    def _patient(self) -> Iterator[Connection]:
        """The everyday connection where the server has no free one: an undo must not wait for that."""
        own = Connection(self._database, CHANGE_TIMEOUT_S)
        try:
            yield own if own.admitted() else self._everyday
        finally:
            own.close()
            self._everyday.durations_s += own.durations_s
            self._everyday.further_questions += len(own.durations_s)

    def _run(self, connection: Connection, step: Step) -> None:
        name = step.setting
        try:
            if isinstance(step, FileLine):
                include.write(self._include_file, step, self._now_s())
            else:
                connection.rows(step.text)
        except CollectionFailed as error:
            raise ApplyRefused(_code(str(error)), f"{name}: {error}") from error
        except DatabaseUnavailable as error:
            self._everyday.row("SELECT 1")  # raises where it is the server that is gone
            raise ApplyRefused(
                ApplyCode.INTERNAL_ERROR, f"{name}: the server runs, but gave no answer: {error}"
            ) from error
        except OSError as error:
            message = f"{name}: the include file: {error.strerror or error}"
            raise ApplyRefused(ApplyCode.INTERNAL_ERROR, message) from error


def _active(connection: Connection, name: str) -> str:
    return str(connection.row(f"SELECT @@GLOBAL.{variable(name)}")[0])


def _resize(connection: Connection) -> tuple[Literal["done", "failed", "under way"], str]:
    """The state of the latest resize of the pool, and what the server reports of it."""
    status = {str(n).lower(): str(v).strip() for n, v in connection.rows(RESIZING)}
    code = status.get("innodb_buffer_pool_resize_status_code")
    report = status.get("innodb_buffer_pool_resize_status", "")
    if code == FAILED or (code is None and "failed" in report.lower()):
        return "failed", report
    done = code == COMPLETE or not report or (code is None and report.lower().startswith(DONE))
    return "done" if done else "under way", report


def _code(text: str) -> ApplyCode:
    return ApplyCode.INSUFFICIENT_PRIVILEGE if text.endswith(DENIED) else ApplyCode.INVALID_VALUE
