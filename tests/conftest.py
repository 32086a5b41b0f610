"""Fixtures that every test may ask for, and what holds for all of them."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Tests run side by side: a thread for each core in every one of them would only wait for the others.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

pytest_plugins = ["tests.support.engines", "tests.support.leftovers"]

# Nothing asserts a wall-clock time: a busy machine is no failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are processors: a good part of the tests' time is waiting for a server's seconds."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest is begun first, so that no process ends long after the others."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
