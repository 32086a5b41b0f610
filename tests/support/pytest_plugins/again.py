"""A plugin: with `--again`, the tests that failed run once more, alone and one after another, and that result decides.

Each that passes then is named on a line of its own, after everything else: it depends on what ran beside it, and wants
mending. More than `MOST` failures are no accident: none of them runs again.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.pytest_plugins.leftovers import LEFT, RUN

MOST = 5


def pytest_addoption(parser: pytest.Parser) -> None:
    told = f"run the tests that failed (at most {MOST}) once more, alone; the second result decides"
    parser.addoption("--again", action="store_true", help=told)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.again and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Again(config), "again")


class Again:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failed: dict[str, None] = {}
        self._session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_unconfigure(self) -> None:
        """After the run's own summary, so that what is said here stands at the end."""
        session = self._session
        if session is None or session.exitstatus != pytest.ExitCode.TESTS_FAILED or not self._failed:
            return
        if len(self._failed) > MOST:
            print(f"\n{len(self._failed)} tests failed, more than {MOST}: none runs again")
            return
        passed = [test for test in self._failed if self._passes_alone(test)]
        for test in self._failed:
            print(f"failed once, {'passed alone' if test in passed else 'and again alone'}: {test}")
        if len(passed) == len(self._failed) and not self._config.stash.get(LEFT, []):
            session.exitstatus = pytest.ExitCode.OK

    def _passes_alone(self, test: str) -> bool:
        options = ["-m", self._config.option.markexpr, "--rootdir", str(self._config.rootpath)]
        # The folder for temporary files that this run was given, not the one that it made there for itself.
        environment = {**os.environ, "TMPDIR": str(self._config.stash[RUN].parent)}
        print(f"\nOnce more, alone: {test}", flush=True)
        command = [sys.executable, "-m", "pytest", *options, test]
        return subprocess.run(command, env=environment, cwd=self._config.invocation_params.dir).returncode == 0
