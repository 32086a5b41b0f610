"""One fit answers every question: what to try, what is best, what a configuration would give, and what matters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lutra_models import Configuration, History, Limit, Objective, Observation
from lutra_models.errors import InvalidConfiguration, NotEnoughObservations
from lutra_models.gp import Model, Options, Snapshot, fit, recommend
from lutra_models.gp.fitted.predictor import Predictor
from lutra_models.gp.learning.fit import learn

from tests.unit.gp.helpers import DEFAULT, SPACE, history

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
QPS = Objective("qps", "maximize")
OTHER = DEFAULT.replace({"random_page_cost": 3.5})


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def read_back(snapshot: Snapshot) -> Snapshot:
    return Snapshot.from_dict(json.loads(json.dumps(snapshot.to_dict())))


@pytest.mark.parametrize("safe", [False, True])
def test_what_a_recommendation_promises_is_what_its_stored_model_predicts(safe: bool) -> None:
    model = fit(history(6), past=[history(20, seed=4)], rng=rng())
    assert model.snapshot.trends["qps"]
    for advice in model.recommend(3, safe=safe):
        others = [o.configuration for o in history(7, seed=3).observations]
        stored = read_back(model.snapshot).predict([*others, advice.configuration])[-1]
        assert advice.predictions == stored == model.predict([advice.configuration])[0]
    best = model.best()
    assert best.predictions == read_back(model.snapshot).predict([best.configuration])[0]


@pytest.mark.slow
def test_a_model_that_leans_on_others_can_be_leaned_on_as_if_it_stood_alone() -> None:
    leaning, alone = (fit(history(12), past=past, rng=rng()).snapshot for past in ((history(20, seed=4),), ()))
    assert leaning.trends["qps"]
    new = history(4, seed=9)
    one, two = (fit(new, past=[read_back(p)], rng=rng()) for p in (leaning, alone))
    assert one.snapshot.trends["qps"]
    assert one.predict([DEFAULT, OTHER]) == two.predict([DEFAULT, OTHER])
    assert one.recommend() == two.recommend()


PRINT_BITS = """
import numpy as np
from lutra_models.gp.fitted.predictor import Predictor
from lutra_models.gp.kernels.covariance import matern52
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.transforms import Transform
rng = np.random.default_rng(0)
x, z = rng.random((160, 12)), rng.standard_normal(160)
gp = GaussianProcess(x, z, np.ones(160), matern52(np.full(12, 2.0), 1.3), 0.05, Transform(True, 0.0, 1.0))
print([Predictor(gp).latent(row) for row in rng.random((4, 12))])
"""


@pytest.mark.slow
def test_predictions_have_the_same_bits_however_many_threads_a_process_has() -> None:
    def printed(threads: int) -> bytes:
        env = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        return subprocess.run([sys.executable, "-c", PRINT_BITS], env=env, check=True, capture_output=True).stdout

    assert printed(1) == printed(2)


def test_predictions_row_by_row_are_the_posteriors_own() -> None:
    learned = learn(history(12), [fit(history(20, seed=4), rng=rng()).snapshot])
    gp, codes = learned.wary, learned.encoding.codes([o.configuration for o in history(6, seed=3).observations])
    assert len(gp.slopes)
    x = learned.wary_inputs(codes)
    means, variances = gp.latent(x)
    predictor = Predictor(gp)
    ours = [predictor.latent(row) for row in x]
    np.testing.assert_allclose([m for m, _ in ours], means, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose([v for _, v in ours], variances, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(predictor.left_out(), gp.left_out(), rtol=1e-5, atol=1e-8)
    columns = [t.column(codes) for t in learned.wary_trends]
    np.testing.assert_allclose([[t.at(c[None]) for c in codes] for t in learned.wary_trends], columns, atol=1e-9)


def test_asked_the_same_again_a_model_answers_the_same() -> None:
    model = fit(history(9), rng=rng())
    assert model.recommend() == model.recommend() == recommend(history(9), rng=1)
    assert model.ranking() == model.ranking()
    assert model.best() == model.best()


def test_what_is_drawn_from_the_generator_after_a_fit_changes_no_answer() -> None:
    generator = rng()
    model = fit(history(4), rng=generator)
    before = model.recommend(2)
    generator.random(100)
    assert model.recommend(2) == before


def test_a_model_of_nothing_measured_recommends_and_predicts_nothing() -> None:
    model = fit(history(0), rng=rng())
    assert model.recommend().configuration == DEFAULT
    assert not model.predicts
    for ask in (lambda: model.predict([DEFAULT]), model.ranking, model.best, lambda: model.snapshot):
        with pytest.raises(NotEnoughObservations):
            ask()
    assert (model.best(DEFAULT).origin, model.best(DEFAULT).configuration) == ("baseline", DEFAULT)
    with pytest.raises(ValueError, match="count must be at least 1"):
        model.recommend(0)


def test_a_frame_is_predicted_as_a_frame() -> None:
    model = fit(history(8), rng=1)
    rows = [o.configuration for o in history(5, seed=3).observations]
    asked = pd.DataFrame(rows, index=range(10, 15))
    told = model.predict(asked, level=0.5)
    assert set(told) == {f"{m}.{end}" for m in ("qps", "p99_ms") for end in ("median", "low", "high")}
    assert told.index.equals(asked.index)
    assert told["qps.low"].tolist() == [p["qps"].low for p in model.predict(rows, level=0.5)]
    assert model.predict(asked.add_prefix("setting.").assign(**{"metric.qps": 1.0}), level=0.5).equals(told)
    assert model.predict(asked[:0])["qps.median"].shape == (0,)
    with pytest.raises(InvalidConfiguration, match="row 0: no value of jit"):
        model.predict(asked.drop(columns="jit"))
    with pytest.raises(TypeError, match="a list of rows"):
        model.predict({"jit": "on"})  # type: ignore[call-overload]


def test_the_knobs_that_matter_come_first() -> None:
    importance = fit(history(40), rng=rng()).ranking()
    assert set(importance) == set(SPACE.names)
    assert list(importance.values()) == sorted(importance.values(), reverse=True)
    assert all(0 <= share <= 1 for share in importance.values())
    assert set(list(importance)[:2]) == {"shared_buffers", "jit"}


def observed(*pairs: tuple[Configuration, float], current: Configuration = DEFAULT, **more: object) -> History:
    return History(SPACE, QPS, observations=[Observation(c, {"qps": q}) for c, q in pairs], current=current, **more)


def read(configuration: Configuration, mean: float) -> list[tuple[Configuration, float]]:
    """Four readings within two percent of each other."""
    return [(configuration, mean * factor) for factor in (0.99, 1.01, 1.0, 1.0)]


THIRD = DEFAULT.replace({"shared_buffers": 1_000_000, "jit": "off"})


@pytest.mark.parametrize(
    ("current", "readings", "chosen", "origin"),
    [
        (DEFAULT, (1000, 1000, 2000), THIRD, "handover"),
        (DEFAULT, (1000, 1001, 1002), DEFAULT, "baseline"),
        (THIRD, (1000, 1000, 1003), DEFAULT, "baseline"),
        (THIRD, (1000, 1000, 500), DEFAULT, "baseline"),
        (THIRD, (1000, 2001, 2000), OTHER, "handover"),  # as good, with one change in place of two
        (THIRD, (1000, 3000, 2000), OTHER, "handover"),
    ],
)
def test_a_configuration_gives_way_only_to_one_that_is_better_by_more_than_the_noise(
    current: Configuration, readings: tuple[float, ...], chosen: Configuration, origin: str
) -> None:
    rows = [pair for c, q in zip((DEFAULT, OTHER, THIRD), readings, strict=True) for pair in read(c, q)]
    best = fit(observed(*rows, current=current), rng=rng()).best(DEFAULT)
    assert (best.configuration, best.origin) == (chosen, origin)
    assert {r.knob for r in best.reasons} == set(current.changes_to(chosen))


def test_a_baseline_that_breaks_a_limit_gives_way_to_one_that_keeps_it() -> None:
    def row(c: Configuration, qps: float, p99_ms: float) -> list[Observation]:
        return [Observation(c, {"qps": qps * f, "p99_ms": p99_ms * f}) for f in (0.99, 1.01, 1.0)]

    rows = [*row(DEFAULT, 1000.0, 90.0), *row(THIRD, 900.0, 20.0)]
    slow = History(SPACE, QPS, limits=[Limit("p99_ms", at_most=40.0)], observations=rows, current=DEFAULT)
    assert fit(slow, rng=rng()).best(DEFAULT).configuration == THIRD


def test_after_one_reading_there_is_no_reason_to_leave_the_baseline() -> None:
    best = fit(observed((THIRD, 1000.0), current=THIRD), rng=rng()).best(DEFAULT)
    assert (best.configuration, best.origin, best.predictions) == (DEFAULT, "baseline", {})


@pytest.mark.parametrize(("trials", "others"), [(0, 0), (1, 0), (9, 0), (5, 20)])
def test_a_model_that_was_saved_and_read_answers_to_the_bit_as_before(trials: int, others: int) -> None:
    failed = [Observation.failed(THIRD, "did_not_start")] if trials > 5 else []
    known = replace(history(trials), observations=(*history(trials).observations, *failed))
    options = Options().varied(**{"search.everywhere": 256})
    model = fit(known, [history(others, seed=4)], rng=rng(), options=options)
    again = Model.load(json.loads(json.dumps(model.save())))
    assert again.options == options
    assert again.recommend(2) == model.recommend(2)
    assert again.recommend(safe=True) == model.recommend(safe=True)
    assert again.best(DEFAULT) == model.best(DEFAULT)
    if model.predicts:
        assert again.predict([DEFAULT, THIRD]) == model.predict([DEFAULT, THIRD])
        assert again.ranking() == model.ranking()


def test_what_cannot_be_saved_or_read_is_refused() -> None:
    with pytest.raises(ValueError, match="MT19937 generator cannot be saved"):
        fit(history(0), rng=np.random.Generator(np.random.MT19937(1))).save()
    with pytest.raises(ValueError, match="unknown model format 9"):
        Model.load({"format": 9})
