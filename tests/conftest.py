"""Fixtures that every test may ask for, and what holds for all of them."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.engines"]

# Nothing asserts a wall-clock time: a busy machine is no failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
