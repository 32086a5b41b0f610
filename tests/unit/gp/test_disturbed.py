"""Servers that drift, scatter and are disturbed: what the model makes of their readings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from lutra_models import Configuration, History, Objective, Observation
from lutra_models.gp import Model, fit
from lutra_models.gp.learning.levelled import drifts, levelled
from lutra_models.gp.options import DEFAULT as OPTIONS
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.surrogate.drift import Change, Drift
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.steadiness import windows
from lutra_models.history import Window

from tests.unit.gp.helpers import DEFAULT, SPACE, history

pytestmark = pytest.mark.slow

ENCODING = Encoding(SPACE.knobs)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def scaled(observation: Observation, factor: float) -> Observation:
    metrics = {"qps": observation.metrics["qps"] * factor, "p99_ms": observation.metrics["p99_ms"] / factor}
    return replace(observation, metrics=metrics)


def slowed(trials: int = 20, at: int = 10, factor: float = 0.67, again: Sequence[int] = (), seed: int = 3) -> History:
    """A session whose server slows down before trial `at`; the trials `again` are measured once more at its end."""
    steady = history(trials, seed)
    seen = [scaled(o, factor if i >= at else 1.0) for i, o in enumerate(steady.observations)]
    return replace(steady, observations=(*seen, *(scaled(steady.observations[i], factor) for i in again)))


def drift_of(known: History) -> Drift:
    return drifts(known, ENCODING, OPTIONS)["qps"]


@pytest.mark.parametrize("seed", range(4))
def test_a_steady_server_has_no_drift_and_its_readings_stay_as_they_are(seed: int) -> None:
    steady = history(20, seed)
    found = drifts(steady, ENCODING, OPTIONS)
    assert all(not one.changes for one in found.values())
    assert levelled(steady, found) is steady


@pytest.mark.parametrize("seed", range(3, 7))
def test_a_slow_down_without_a_witness_is_a_suspicion(seed: int) -> None:
    found = drift_of(slowed(seed=seed))
    assert found.changes == ()
    assert found.suspected is not None
    assert abs(found.suspected.last - 10) <= 1


@pytest.mark.parametrize("seed", range(3, 7))
def test_a_slow_down_with_a_witness_is_a_change_of_its_size(seed: int) -> None:
    known = slowed(again=(2,), seed=seed)
    found = drift_of(known)
    assert found.suspected is None
    (change,) = found.changes
    assert abs(change.last - 10) <= 1
    assert change.size == pytest.approx(np.log(0.67), abs=0.12)
    now = levelled(known, drifts(known, ENCODING, OPTIONS))
    here, there = (o.metrics["qps"] for o in (now.observations[2], now.observations[-1]))
    assert here == pytest.approx(there, rel=0.15)


def test_a_suspicion_is_settled_by_the_best_of_before_measured_again() -> None:
    known = slowed()
    model = fit(known, rng=rng())
    advice = model.recommend()
    assert advice.origin == "reference"
    assert advice.configuration in [o.configuration for o in known.observations[:10]]
    assert all("still reads as it did" in r.sentence or "predicted" in r.sentence for r in advice.reasons)


def test_a_dip_that_is_over_leaves_what_was_read_before_it_as_it_was() -> None:
    dip, steady = slowed(at=14), history(20, 3).observations
    found = drift_of(replace(dip, observations=(*dip.observations, steady[2], steady[4])))
    assert len(found.changes) == 2
    assert sum(c.size for c in found.changes) == pytest.approx(0.0, abs=0.1)
    assert found.now(np.full(22, 100.0))[16] == pytest.approx(100.0 / 0.67, rel=0.15)


def test_after_a_slow_down_predictions_and_the_best_are_of_now() -> None:
    known = slowed(again=(2,))
    model = fit(known, rng=rng())
    assert model.learned is not None
    best = max(history(20, 3).observations, key=lambda o: o.metrics["qps"])
    assert model.learned.ranked()[0] == best.configuration
    predicted = model.predict([best.configuration])[0]["qps"]
    assert predicted.median == pytest.approx(0.67 * best.metrics["qps"], rel=0.15)


def test_a_model_that_is_saved_keeps_its_drift_to_the_bit() -> None:
    model = fit(slowed(again=(2,)), rng=rng())
    again = Model.load(json.loads(json.dumps(model.save())))
    assert again.learned is not None
    assert model.learned is not None
    assert again.learned.drifts == model.learned.drifts
    assert again.learned.history.key == model.learned.history.key
    assert again.recommend() == model.recommend()
    assert again.best() == model.best()


def test_readings_that_admit_no_posterior_tell_of_no_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> GaussianProcess:
        raise np.linalg.LinAlgError("the covariance of 20 rows is not positive definite")

    monkeypatch.setattr("lutra_models.gp.surrogate.drift.posterior_at", refuse)
    assert drift_of(slowed(again=(0, 1, 2))) == Drift()


def test_a_slope_shifts_readings_by_how_far_they_are_from_its_end() -> None:
    drift = Drift(True, (Change(0, 4, np.log(0.5)),))
    np.testing.assert_allclose(drift.now(np.full(5, 100.0)), 100.0 * 0.5 ** np.array([1.0, 0.75, 0.5, 0.25, 0.0]))
    assert Drift.from_dict(json.loads(json.dumps(drift.to_dict()))) == drift


def test_a_server_that_gave_no_repeat_for_long_is_asked_for_one_and_a_table_is_not() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    table = history(OPTIONS.drift.interval, 5)
    minutes = [Window(start + timedelta(minutes=i), start + timedelta(minutes=i + 1)) for i in range(60)]
    seen = [replace(o, window=w) for o, w in zip(table.observations, minutes, strict=False)]
    server = replace(table, observations=tuple(seen))
    assert fit(server, rng=rng()).recommend().origin == "reference"
    assert fit(table, rng=rng()).recommend().origin != "reference"
    assert server.key == table.key


def read(*pairs: tuple[Configuration, float], counters: Sequence[dict[str, float]] | None = None) -> History:
    more = counters or [{}] * len(pairs)
    seen = [Observation(c, {"qps": q, **extra}) for (c, q), extra in zip(pairs, more, strict=True)]
    return History(SPACE, Objective("qps", "maximize"), observations=seen, current=DEFAULT)


STEADY, WILD = DEFAULT.replace({"jit": "off"}), DEFAULT.replace({"io_method": "io_uring"})


def test_a_configuration_that_scatters_counts_at_what_can_be_relied_on() -> None:
    base = [(DEFAULT, 300.0), (DEFAULT, 304.0), (STEADY, 400.0), (STEADY, 396.0), (STEADY, 402.0)]
    model = fit(read(*base, (WILD, 329.0), (WILD, 500.0), (WILD, 420.0)), rng=rng())
    assert model.best().configuration == STEADY
    steady, wild = (p["qps"] for p in model.predict([STEADY, WILD]))
    assert wild.high - wild.low > 1.5 * (steady.high - steady.low)
    assert wild.holds(329.0)
    assert wild.holds(500.0)


def test_a_configuration_that_stalls_inside_its_windows_loses_to_one_that_does_not() -> None:
    pairs = [(DEFAULT, 300.0), (STEADY, 400.0), (WILD, 404.0), (DEFAULT, 303.0), (STEADY, 401.0), (WILD, 407.0)]
    quiet, stalled = {"tps": 100.0, "tps_low": 95.0}, {"tps": 100.0, "tps_low": 20.0}
    assert fit(read(*pairs), rng=rng()).learned.ranked()[0] == WILD  # type: ignore[union-attr]
    inside = [quiet, quiet, stalled, quiet, quiet, stalled]
    assert fit(read(*pairs, counters=inside), rng=rng()).learned.ranked()[0] == STEADY  # type: ignore[union-attr]


def test_a_reading_from_a_disturbed_window_weighs_less_and_a_standing_quota_does_not_count() -> None:
    busy = {"host.cpu_user_s_per_s": 1.5, "host.cpu_system_s_per_s": 0.3}
    stolen = [{**busy, "host.cpu_steal_s_per_s": s} for s in (0.0, 0.0, 0.0, 0.6)]
    pairs = [(DEFAULT, 400.0), (DEFAULT, 402.0), (DEFAULT, 398.0), (DEFAULT, 250.0)]
    weights = [w for w, _ in windows(read(*pairs, counters=stolen), "qps", OPTIONS.targets)]
    assert weights[:3] == [1.0, 1.0, 1.0]
    assert weights[3] < 0.1
    disturbed = fit(read(*pairs, counters=stolen), rng=rng()).predict([DEFAULT])[0]["qps"]
    silent = fit(read(*pairs), rng=rng()).predict([DEFAULT])[0]["qps"]
    assert disturbed.median > silent.median
    throttled = [{**busy, "host.cpu_throttled_s_per_s": 0.5}] * 4
    assert [w for w, _ in windows(read(*pairs, counters=throttled), "qps", OPTIONS.targets)] == [1.0] * 4


def test_two_readings_that_contradict_each_other_call_for_a_third_and_a_stall_does_not_decide() -> None:
    others = [(o.configuration, o.metrics["qps"]) for o in history(7, 2).observations]
    base = [*others, (STEADY, 5000.0), (STEADY, 1500.0)]
    advice = fit(read(*base), rng=rng()).recommend()
    assert (advice.origin, advice.configuration) == ("repeat", STEADY)
    assert fit(read(*base, (STEADY, 4950.0)), rng=rng()).best().configuration == STEADY
