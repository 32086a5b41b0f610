"""Whatever was measured: a recommendation that the rules allow, or a refusal that says why. Never another exception."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models import Configuration, History, Limit, Objective, Observation
from lutra_models.errors import NotEnoughObservations, SpaceExhausted
from lutra_models.gp import Options, fit, recommend
from lutra_models.gp.space.encoding import Encoding
from lutra_models.history import Window

from tests.support.pytest_plugins.suites import examples
from tests.unit.gp.helpers import DEFAULT, SPACE

pytestmark = pytest.mark.slow

OPTIONS = Options().using(surrogate="numpy")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NUMBERS = (
    st.just(0.0),
    st.sampled_from([0.0, 0.0, 0.0, 3.0]),
    st.just(42.0),
    st.integers(0, 3).map(float),
    st.floats(1e14, 1e16),
    st.floats(1e-13, 1e-11),
    st.floats(-10.0, 10.0),
    st.floats(0.0, 1e6),
)
"""What one metric reads over a session: one of these kinds."""


def configurations(count: int, seed: int) -> list[Configuration]:
    encoding = Encoding(SPACE.knobs)
    cube = encoding.cube(np.random.default_rng(seed).random((count, len(SPACE))))
    return [DEFAULT, *(encoding.decode(c) for c in cube)]


@st.composite
def histories(draw: st.DrawFn, objective: Objective) -> History:
    read = {name: draw(st.sampled_from(NUMBERS)) for name in ("qps", "p99_ms")}
    known = configurations(draw(st.integers(0, 12)), draw(st.integers(0, 9)))
    windowed, seen = draw(st.booleans()), []
    for i in range(draw(st.integers(1, 20))):
        tried = known[i] if i < len(known) else draw(st.sampled_from(known))
        window = Window(NOON + timedelta(minutes=i), NOON + timedelta(minutes=i + 1)) if windowed else None
        kind = draw(st.sampled_from(["read"] * 8 + ["failed", "bounded", "partial"]))
        metrics = {name: draw(numbers) for name, numbers in read.items()}
        if kind == "failed":
            seen.append(Observation.failed(tried, "did_not_start"))
        elif kind == "bounded":
            seen.append(Observation(tried, {}, window=window, bounds={"qps": abs(metrics["qps"])}))
        else:
            kept = metrics if kind == "read" else {"qps": metrics["qps"]}
            context = {"clients": draw(st.sampled_from([8, 64]))} if draw(st.booleans()) else None
            seen.append(Observation(tried, kept, window=window, context=context))
    limits = draw(st.lists(st.sampled_from([0.0, 1.0, 100.0]).map(lambda v: Limit("p99_ms", at_most=v)), max_size=1))
    return History(SPACE, objective, limits=limits, observations=seen, current=DEFAULT)


@examples(12, 30)
def test_any_readings_lead_to_a_configuration_or_a_refusal(examples: int) -> None:
    settings(max_examples=examples)(given(data=st.data())(leads_to_a_configuration_or_a_refusal))()


def leads_to_a_configuration_or_a_refusal(data: st.DataObject) -> None:
    objective = Objective("qps", data.draw(st.sampled_from(["maximize", "minimize"])))
    history, past = data.draw(histories(objective)), data.draw(st.lists(histories(objective), max_size=2))
    with suppress(SpaceExhausted):
        advice = recommend(history, past, rng=np.random.default_rng(0), safe=data.draw(st.booleans()), options=OPTIONS)
        assert SPACE.refusal(advice.configuration) is None
    with suppress(NotEnoughObservations):
        assert (
            SPACE.refusal(fit(history, past, rng=np.random.default_rng(0), options=OPTIONS).best().configuration)
            is None
        )
