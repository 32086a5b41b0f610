"""Fixtures that every test may ask for, and what holds for all of them."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Tests run side by side: a thread for each core in every one of them would only wait for the others.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# jsonschema would compile a grammar of internationalised addresses, for a second of each process: none is checked here.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# What is imported and collected stays until the end: a collector that walks through it again and again finds nothing.
gc.disable()

# A package that is installed for the tests alone: the processes that they start see it as well.
_installed = str(Path(__file__).with_name("installed"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_installed, os.environ.get("PYTHONPATH"))))

# The contexts and the service of whoever runs the tests are none of theirs, nor of the processes that they start.
for _name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
    os.environ[_name] = "/nonexistent/lutra-tests"
for _name in ("LUTRA_URL", "LUTRA_TOKEN", "LUTRA_CA_FILE"):
    os.environ.pop(_name, None)

pytest_plugins = [
    "tests.support.pytest_plugins.leftovers",
    "tests.support.servers.engines",
    "tests.support.pytest_plugins.suites",
    "tests.support.pytest_plugins.spread",
    "tests.support.pytest_plugins.spent",
    "tests.support.pytest_plugins.again",
]

# Nothing asserts a wall-clock time: a busy machine is no failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("patient"), max_examples=10)


def pytest_configure(config: pytest.Config) -> None:
    """Before a commit a property is tried on fewer examples than in the whole suite, where it names no number."""
    settings.load_profile("quick" if "not slow" in config.option.markexpr else "patient")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """`-n logical`: as many as there are processors, for tests that compute. `-n auto`: twice as many, for tests
    that wait for a server most of their time."""
    processors = os.cpu_count() or 1
    return max(2, processors if config.option.numprocesses == "logical" else processors * 2)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    # What is frozen counts for nothing when a whole collection falls due: with the default they would be frequent.
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture
def own_environment() -> Iterator[None]:
    """The environment as it was before the test, whose program may write into it."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
