"""Simulated servers by number: what is odd about each, and what is wrong with what an agent makes of it."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_agent.engines.common.engine import Engine
from lutra_models.catalog import load
from lutra_models.wire import Report

from tests.support.odd.agent import HOST, Agent
from tests.support.odd.answers import FAMILY, KINDS, TAG, Oddity, OddServer, oddities
from tests.support.odd.connections import engine_over, real
from tests.support.odd.heard import Heard
from tests.support.reported.samples import sample

INTERVALS = 3
"""The first of them has no window."""
COMMANDS_EACH = 8
"""The agent's commands are run beside one server of so many."""
JUMPS_S = (*[0.0] * 27, -86_400.0, -11.0, 3600.0)
MEMORY = Path("/dev/shm")
"""A disk that need not be waited for, where the system has it."""

UNPRINTABLE = re.compile(r'(?<!\\)(?:\\\\)*\\[^"\\/]')
"""What JSON writes as an escape, but for quotation marks and backslashes."""

NEEDED = {
    "postgresql": ("SELECT 1", "SELECT current_setting('server_version_num')"),
    "mysql": ("SELECT 1", "SELECT VERSION()", "SELECT @@GLOBAL.read_only", "SHOW GLOBAL STATUS"),
    "redis": ("PING", "INFO"),
}
"""Beginnings of the questions without whose answer there is no window: who answers, and since when."""
SETTINGS = {
    "postgresql": ("SELECT name, setting", "SELECT concat_ws"),
    "mysql": ("SELECT i.VARIABLE_NAME", "SELECT LOWER(VARIABLE_NAME)", "SELECT @@GLOBAL.persisted_globals_load",
              "SELECT @@GLOBAL.thread_handling"),
    "redis": ("CONFIG",),
}  # fmt: skip
"""Those from whose answers the settings are read: other settings are another configuration, and begin a warm-up."""
QUIET = {
    "postgresql": ("SELECT system_identifier", "SELECT current_setting('data_directory')", "SELECT extversion",
                   "SELECT userid", "SELECT name, setting FROM pg_file_settings"),
    "mysql": ("SELECT @@GLOBAL.server_uuid", "SHOW GLOBAL VARIABLES LIKE 'server_uid'", "SELECT SUM(COUNT)",
              "SELECT s.COUNT_STAR", "SHOW ALL SLAVES STATUS", "SELECT TID", "SELECT THREAD_OS_ID", "greeting",
              "SELECT COUNT(*) AS counted", "SELECT IF(@@GLOBAL.performance_schema, COALESCE(SUM(SUM_CONNECT"),
    "redis": ("CONFIG",),
}  # fmt: skip
"""Those that an account need not be allowed: without an answer the agent does without, or another one tells."""

INSTEAD = {"postgresql": ("SELECT name, setting FROM pg_file_settings",), "mysql": (), "redis": ()}
"""Those in place of whose answer the agent takes values of its own session: other settings again."""


@dataclass
class World:
    number: int
    database: Any
    server: OddServer
    secret: str
    jump_s: float

    @property
    def family(self) -> str:
        return FAMILY.get(self.database.engine, self.database.engine)

    def objections(self) -> Iterator[str]:
        """What is wrong with what an agent made of it."""
        folder = MEMORY if MEMORY.is_dir() else None
        with tempfile.TemporaryDirectory(dir=folder, prefix="lutra-test-") as name:
            agent = Agent(engine_over(self.database, self.server.ask), self.database, Path(name))
            for turn in range(INTERVALS):
                before = len(self.server.met)
                agent.interval(self.jump_s if turn == 1 else 0.0)
            yield from (f"traceback: {error}" for error in agent.errors)
            yield from self._of_reports(agent.reports, self.server.met[before:])
            shown = agent.commands() if self.number % COMMANDS_EACH == 0 else []
            yield from (f"traceback: {error}" for error in agent.errors)
            yield from (f"the password is shown: {text}" for text in shown if self.secret in text)

    def _of_reports(self, reports: list[Report], met: list[Oddity]) -> Iterator[str]:
        """`met` is what was odd in the last interval."""
        for report in reports:
            sent = report.model_dump_json()
            if UNPRINTABLE.search(sent) or not sent.isprintable():
                yield f"not to be printed: {sent}"
            if self.secret in sent:
                yield f"the password is sent: {sent}"
            problems = report.status.problems
            if len(set(problems)) < len(problems):
                yield f"named twice: {problems}"
        if not self._excused():
            windows = sum(report.window is not None for report in reports)
            if windows < INTERVALS - 1:
                yield f"{windows} windows of {INTERVALS - 1}; problems: {[r.status.problems for r in reports]}"
            yield from self._unnamed(reports, met)

    def _excused(self) -> bool:
        """Whether something was odd without which there is no window."""
        return bool(self.jump_s) or any(self._loses(oddity) for oddity in self.server.met)

    def _loses(self, oddity: Oddity) -> bool:
        changed = oddity.kind in ("cell", "number", "rows") or self._is(oddity, INSTEAD)
        others = changed and not oddity.always and self._is(oddity, SETTINGS)
        return oddity.kind == "gone" or self._is(oddity, NEEDED) or others

    def _unnamed(self, reports: list[Report], met: list[Oddity]) -> Iterator[str]:
        """Each refusal is named once in the last report."""
        said = " ".join(reports[-1].status.problems) if reports else ""
        for oddity in {id(o): o for o in met}.values():
            tag = re.search(rf"{TAG}\d+", oddity.what)
            if tag and not self._is(oddity, QUIET) and said.count(tag[0]) != 1:
                yield f"named {said.count(tag[0])} times: {oddity}; the problems are {said}"

    def _is(self, oddity: Oddity, starts: dict[str, tuple[str, ...]]) -> bool:
        return str(oddity.question[0]).startswith(starts[self.family])


def world(number: int, database: Any, heard: Heard) -> World:
    """`database` names a file with a password."""
    chance = random.Random(f"{database.engine} {number}")
    odd = oddities(database.engine, heard, chance, tuple(KINDS))
    return World(number, database, OddServer(heard, odd), str(database.password()), chance.choice(JUMPS_S))


def heard(database: Any) -> Heard:
    """All that the agent asks, twice."""
    found = Heard()
    engine = engine_over(database, found.recording(real(database)))
    for _ in range(2):
        ask_all(engine)
    return found


def ask_all(engine: Engine) -> None:
    engine.health.ping()
    engine.health.started()
    engine.server(HOST)
    sample(engine)
    engine.telemetry.visible()
    engine.own.permissions(r.name for r in load(engine.own.catalogue).rows_for(engine.health.identity().version))
