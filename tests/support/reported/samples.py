"""Samples of a server, one a second as they are told: a rate between two in a row is the count itself."""

from __future__ import annotations

import itertools
from datetime import timedelta

from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.telemetry import Sample

from tests.support.fakes.clock import START

SECONDS = itertools.count(1)


def sample(engine: Engine) -> Sample:
    second = next(SECONDS)
    return engine.telemetry.sample(START + timedelta(seconds=second), float(second))
