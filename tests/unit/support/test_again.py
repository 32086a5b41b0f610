"""The plugin that runs failed tests once more, on runs of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pytest_plugins.pytest_runs import run

pytestmark = pytest.mark.slow

PLUGINS = ("leftovers", "again")
ONCE = """
import os
from pathlib import Path
def test_it():
    told = Path(os.environ["TOLD"])
    first = not told.exists()
    told.touch()
    assert not first
def test_another():
    pass
"""
ALWAYS = "def test_it():\n    assert False\n"
MANY = "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_it(n):\n    assert False\n"
LEFT = ONCE.replace(
    "    assert not first", "    import tempfile\n    first and tempfile.mkdtemp()\n    assert not first"
)
IN_SETUP = """
import os
from pathlib import Path
import pytest
@pytest.fixture
def broken():
    told = Path(os.environ["TOLD"])
    first = not told.exists()
    told.touch()
    assert not first
def test_it(broken):
    pass
"""


@pytest.mark.parametrize(
    ("code", "spread"), [(IN_SETUP, ()), (ONCE, ("-n", "2"))], ids=["in its fixture, one process", "itself, spread"]
)
def test_a_test_that_passes_alone_is_named_and_the_run_is_green(
    tmp_path: Path, code: str, spread: tuple[str, ...]
) -> None:
    done = run(tmp_path, code, "--again", *spread, plugins=PLUGINS)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "failed once, passed alone: test_it.py::test_it"


def test_a_test_that_fails_again_alone_is_a_failure(tmp_path: Path) -> None:
    done = run(tmp_path, ALWAYS, "--again", plugins=PLUGINS)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "failed once, and again alone: test_it.py::test_it"


def test_more_failures_than_an_accident_makes_are_not_run_again(tmp_path: Path) -> None:
    done = run(tmp_path, MANY, "--again", plugins=PLUGINS)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "6 tests failed, more than 5: none runs again"
    assert done.stdout.count("Once more") == 0


def test_what_the_first_run_left_behind_fails_it_whatever_the_second_says(tmp_path: Path) -> None:
    done = run(tmp_path, LEFT, "--again", plugins=PLUGINS)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "failed once, passed alone: test_it.py::test_it"


def test_nothing_runs_again_unless_it_was_asked(tmp_path: Path) -> None:
    done = run(tmp_path, ONCE, plugins=PLUGINS)
    assert done.returncode == 1
    assert "once" not in done.stdout
