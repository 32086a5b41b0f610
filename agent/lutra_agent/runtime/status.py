"""The agent's own state, in a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lutra_models.errors import printable
from lutra_models.wire import AgentStatus

from lutra_agent import __version__
from lutra_agent.drivers.base import Driver
from lutra_agent.runtime.local_database import LocalDatabase

LONGEST_PROBLEM, MOST_PROBLEMS = 1000, 50
"""The maximum length of a problem, and the maximum number in one report."""


def status_of(
    database: LocalDatabase, driver: Driver | None, loads: Mapping[str, Driver], problems: Iterable[str]
) -> AgentStatus:
    """The current status. The spool itself knows the number of dropped reports."""
    change, agent = database.changes.load().provisional, database.config.agent
    return AgentStatus(
        version=__version__,
        mode=agent.mode,
        paused=database.state.paused,
        driver=driver and driver.name,
        loads=tuple(loads),
        problems=_told(problems),
        guardrails=database.rules.guardrails(),
        firing=list(database.monitor.firing),
        provisional=change.directive if change else None,
    )


def _told(problems: Iterable[str]) -> list[str]:
    """Each once, as the wire takes them: a server chooses some of the words."""
    return list(dict.fromkeys(printable(problem)[:LONGEST_PROBLEM] for problem in problems))[:MOST_PROBLEMS]
