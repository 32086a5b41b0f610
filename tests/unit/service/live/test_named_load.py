"""A prediction is for the load of now, or for one that is named and was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lutra_models import gp, serial

from tests.support.fakes.tasks import Document
from tests.support.service.hosted import fake_executor, running
from tests.support.service.live import Advisor, Live

pytestmark = pytest.mark.slow

SWING = (300.0, 600.0, 1200.0, 900.0, 450.0, 300.0, 700.0, 1000.0, 1250.0, 400.0, 800.0, 500.0)


class Fitting(Advisor):
    """With the real model of what it is given."""

    def recommend(self, request: Mapping[str, Any]) -> Document:
        history = serial.history_from_dict(request["history"])
        snapshot = gp.fit(history, rng=np.random.default_rng(1)).snapshot
        return {**super().recommend(request), "snapshot": snapshot.to_dict()}


def p99_at(rate: float) -> float:
    return 4.0 + (rate / 300.0) ** 2


@pytest.mark.slow
@pytest.mark.parametrize("swings", [True, False])
def test_a_rate_that_was_measured_is_predicted_for_and_any_other_is_refused(tmp_path: Path, swings: bool) -> None:
    advisor = Fitting({"work_mem": 8192})
    with running(tmp_path, executor=fake_executor(advisor)) as service:
        made = Live(service, advisor)
        made.observe(2, qps=500.0, p99_ms=p99_at(500.0))
        made.open()
        for rate in SWING if swings else (500.0,) * len(SWING):
            made.window(qps=rate, p99_ms=p99_at(rate))
        assert made.ask()["state"] == "proposed"
        path, asked = f"{made.path}/predictions", {"settings": {"work_mem": "5MB"}}
        now = service.take("POST", path, asked)
        if not swings:
            assert now["load"] is None
            status, code = service.code("POST", path, {**asked, "rate": 500.0})
            assert (status, code) == (422, "invalid_request")
            return
        assert now["load"] == {"rate_of": "qps", "rate": 500.0, "low": 300.0, "high": 1250.0}
        then = service.take("POST", path, {**asked, "rate": 1200.0})
        assert (then["load"]["rate"], list(then["predictions"])) == (1200.0, ["p99_ms"])
        for told, rate in ((now, 500.0), (then, 1200.0)):
            told_p99 = told["predictions"]["p99_ms"]
            assert told_p99["low"] < p99_at(rate) < told_p99["high"], (rate, told_p99)
        assert service.code("POST", path, {**asked, "rate": 9000.0}) == (422, "invalid_request")
