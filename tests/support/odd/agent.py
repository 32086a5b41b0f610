"""An agent's intervals, its `check` and its `symptoms` beside a server that answers oddly."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.clock import Clock
from lutra_agent.commands import check, symptoms
from lutra_agent.config.types import AgentConfig, Config, ServiceConfig
from lutra_agent.engines.common.engine import Engine
from lutra_agent.metrics.host import HostProbe
from lutra_agent.reporting.service_link import News
from lutra_agent.runtime import compose
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_models.errors import LutraError
from lutra_models.server import Host
from lutra_models.wire import Report

from tests.support.fakes.clock import FakeClock
from tests.support.fakes.engine import NoSignals
from tests.support.fakes.service import decoded

HOST = Host(memory_bytes=8 << 30, cores=4)
INTERVAL_S = 10


class Probe(HostProbe):
    """Every server's host; nothing of it is read."""

    def facts(self, pid: int | None = None, data_dir: Path | None = None) -> Host:
        return HOST

    def reading(self, data_dir: Path | None = None, pid: int | None = None) -> Any:
        return READING

    def room(self, pid: int | None, data_dir: Path | None) -> dict[str, float]:
        return {}


READING = HostProbe().reading()


class SetClock(FakeClock):
    set_by_s = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.set_by_s)


@dataclass
class Kept:
    """A spool and a service in one, which take what the wire takes."""

    clock: FakeClock
    epoch: str = "ep_1"
    dropped: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    def append(self, make: Any) -> int:
        self.reports.append(Report.model_validate(decoded(make(len(self.reports)))))
        return len(self.reports)

    def send(self) -> None:
        """It has them already."""

    def wait(self, seconds: float, ask: bool) -> News:
        self.clock.sleep(seconds)
        return News()

    def sent(self, within_s: float) -> bool:
        return True


class Errors(logging.Handler):
    """What the agent logs with a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.seen.append(logging.Formatter().formatException(record.exc_info))


ERRORS = Errors()
logging.getLogger("lutra_agent").addHandler(ERRORS)


class Agent:
    """One that only observes, beside an engine. What it logs with a traceback is in `errors`."""

    def __init__(self, engine: Engine, database: Any, folder: Path) -> None:
        ERRORS.seen.clear()
        self.clock = SetClock()
        self.errors = ERRORS.seen
        where = ServiceConfig("http://127.0.0.1", "shop")
        self._config = Config(where, database, AgentConfig(folder / "state", "observe", INTERVAL_S))
        self._database = compose.local_database(self._config, self.clock, engine)
        self._database.probe = Probe()
        self._kept: Any = Kept(self.clock)
        self._loop = compose.loop_of(self._database, self._kept, self._kept, NoSignals())

    @property
    def reports(self) -> list[Report]:
        reports: list[Report] = self._kept.reports
        return reports

    def interval(self, jump_s: float = 0.0) -> None:
        """`jump_s`: by how much somebody sets the host's clock before it."""
        self.clock.set_by_s += jump_s
        self._loop.cycle()

    def commands(self) -> list[str]:
        return list(_commands(self._config, self._database, self.clock))


def _commands(config: Config, beside: LocalDatabase, clock: Clock) -> Iterator[str]:
    """What people are shown; an error that is meant for them ends a command too."""
    questions: tuple[tuple[Callable[[], Any], Callable[[Any, bool], str]], ...] = (
        (lambda: check.examine(config), check.show),
        (lambda: symptoms.report(symptoms.look(config, 2 * INTERVAL_S, clock), config, clock.now()), symptoms.show),
    )
    with pytest.MonkeyPatch.context() as patched:
        for module in (check, symptoms):
            patched.setattr(module, "local_database", lambda config, clock: beside)
        patched.setattr(check, "SystemClock", lambda: clock)
        for ask, show in questions:
            try:
                found = ask()
            except LutraError as error:
                yield str(error)
            else:
                yield show(found, False)
                json.dumps(json.loads(show(found, True)), allow_nan=False)
