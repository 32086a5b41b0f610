"""A plugin: the seconds and the processor seconds of each test, children included, and the slowest at the run's end."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

SLOWEST = 20
PROPERTY = "spent"
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Of this process, of the children that it has waited for, and of the descendants that still run."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) + sum(map(_ticks, _descendants(os.getpid()))) / (
        TICKS_A_SECOND
    )


def _descendants(pid: int) -> Iterator[int]:
    with suppress(OSError):  # a process that has just ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                yield child
                yield from _descendants(child)


def _ticks(pid: int) -> int:
    """With those of the children that this process has waited for."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))
    return 0


class Spent:
    """Counts in the process that runs a test, and collects where the run is reported."""

    def __init__(self) -> None:
        self.begun = (0.0, 0.0)
        self.spent: dict[str, tuple[float, float]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self.begun = (time.monotonic(), processor_seconds())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Any:
        report: pytest.TestReport = yield
        if call.when == "teardown":
            begun, processor = self.begun
            report.user_properties.append((PROPERTY, (time.monotonic() - begun, processor_seconds() - processor)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, spent in report.user_properties:
            if name == PROPERTY:
                self.spent[report.nodeid] = tuple(spent)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        slowest = sorted(self.spent.items(), key=lambda case: case[1], reverse=True)[:SLOWEST]
        if len(self.spent) > SLOWEST:
            terminalreporter.section("slowest: seconds, processor seconds")
            for test, (seconds, processor) in slowest:
                terminalreporter.write_line(f"{seconds:8.2f} {processor:8.2f}  {test}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Spent(), "spent")
