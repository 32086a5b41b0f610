"""The conformance suite over the engine in memory: what the fake does, real ones do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.conformance.engine import EngineConformance, Subject
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.engine import FakeControl, FakeEngine

TOO_MUCH = 1 << 29


class TestFake(EngineConformance):
    @pytest.fixture
    def subject(self, tmp_path: Path) -> Subject:
        clock = FakeClock()
        engine = FakeEngine(tmp_path / "postgresql.auto.conf")
        engine.breaks = lambda file: "4TB" in file.get("shared_buffers", "")

        def load() -> None:
            engine.commits += 20
            clock.sleep(1)

        def stop() -> None:
            engine.shut_down()
            engine.epoch = "second"

        return Subject(
            engine.opened,
            FakeControl(engine, clock),
            tmp_path / "state",
            lambda: {n: s.value for n, s in engine.settings.items()},
            load,
            stop,
            {"work_mem": 8192, "random_page_cost": 1.5},
            {"shared_buffers": 8192},
            {"shared_buffers": TOO_MUCH},
            {"random_page_cost": -5},
            clock=clock,
        )
