"""An answer holds the settings that earn their place, says what few of them give, and no more than are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from lutra_models import Configuration, History, Knob, KnobSpace, Number, Objective, Observation, Refusal
from lutra_models.gp import Model, Options, fit, recommend
from lutra_models.gp.search.shortening import Path, path
from lutra_models.gp.space.encoding import Encoding
from lutra_models.knobs import Rule

pytestmark = pytest.mark.slow

NAMES = [f"k{i}" for i in range(8)]
KNOBS = [Knob(name, Number(0.0, 1.0)) for name in NAMES]
BASELINE = Configuration(dict.fromkeys(NAMES, 0.1))
FAST = Options().using(surrogate="numpy")


def qps(configuration: Configuration, relevant: int) -> float:
    """A made-up server on which the first `relevant` settings count, the first one most."""
    return 1000.0 + sum(500.0 / (i + 1) * float(configuration[NAMES[i]]) for i in range(relevant))


def measured(relevant: int, *rules: Rule, trials: int = 30, goal: str = "maximize", seed: int = 0) -> History:
    """Random configurations, the baseline first; every setting is read for certain."""
    rng = np.random.default_rng(seed)
    space, encoding = KnobSpace(KNOBS, rules), Encoding(KNOBS)
    drawn = [encoding.decode(codes) for codes in encoding.cube(rng.random((trials - 1, len(KNOBS))))]
    values = [(c, qps(c, relevant)) for c in (BASELINE, *drawn)]
    seen = [Observation(c, {"m": v if goal == "maximize" else 1e6 / v}) for c, v in values]
    return History(space, Objective("m", goal), observations=seen, current=BASELINE)  # type: ignore[arg-type]


def fitted(history: History) -> Model:
    return fit(history, rng=np.random.default_rng(1), options=FAST)


def shortened(history: History, relevant: int, goal: str = "maximize") -> Model:
    """What is fitted once the search has measured what it would hand over with fewer changes, and again, and again."""
    history = replace(history, baseline=BASELINE)
    for trial in range(8):
        options = FAST.varied(**{"search.shorter_every": 1})
        advice = recommend(history, rng=np.random.default_rng(trial), options=options)
        if advice.origin != "shorter":
            break
        value = qps(advice.configuration, relevant)
        reading = Observation(advice.configuration, {"m": value if goal == "maximize" else 1e6 / value})
        history = replace(history, observations=(*history.observations, reading), current=advice.configuration)
    return fitted(history)


def changes(configuration: Configuration) -> set[str]:
    return set(BASELINE.changes_to(configuration))


@pytest.mark.parametrize(("relevant", "goal"), [(1, "maximize"), (2, "maximize"), (3, "minimize")])
def test_what_counts_stays_and_nothing_else_is_changed(relevant: int, goal: str) -> None:
    model = shortened(measured(relevant, goal=goal), relevant, goal)
    best = model.best(BASELINE)
    assert changes(best.configuration) == set(NAMES[:relevant])
    read = {o.configuration for o in model.history.observations}
    assert best.configuration in read
    whole = max(qps(c, relevant) for c in read) - qps(BASELINE, relevant)
    assert qps(best.configuration, relevant) - qps(BASELINE, relevant) >= 0.95 * whole


def test_only_what_was_measured_is_handed_over() -> None:
    history = measured(3)
    best = fitted(history).best(BASELINE)
    assert best.configuration in {o.configuration for o in history.observations}


def test_without_a_baseline_no_trial_is_spent_on_fewer_changes() -> None:
    history = measured(3, trials=32)
    options = FAST.varied(**{"search.shorter_every": 1})
    origins = {recommend(h, rng=np.random.default_rng(0), options=options).origin for h in (history, measured(3))}
    assert "shorter" not in origins


def test_one_trial_in_so_many_measures_fewer_changes_and_none_of_the_opening() -> None:
    history = replace(measured(3), baseline=BASELINE)
    origins = []
    for trials in range(4, 17):
        seen = replace(history, observations=history.observations[:trials])
        origins.append(recommend(seen, rng=np.random.default_rng(0), options=FAST).origin)
    assert {4 + i for i, origin in enumerate(origins) if origin == "shorter"} <= {8, 12, 16}
    assert "shorter" in origins


def test_the_curve_goes_from_nothing_to_all_and_the_settings_that_earn_most_come_first() -> None:
    best = fitted(measured(3)).best(BASELINE)
    assert [point.settings for point in best.curve] == list(range(len(NAMES) + 1))
    assert [point.share for point in best.curve][:: len(NAMES)] == pytest.approx([0.0, 1.0])
    added = [name for point in best.curve for name in point.added]
    assert set(added[:3]) == set(NAMES[:3])
    assert sorted(added) == sorted(NAMES)
    assert all(point.low <= point.share <= point.high for point in best.curve)
    columns = best.curve_columns()
    assert columns["settings"] == [point.settings for point in best.curve]
    assert set(columns) == {"settings", "added", "share", "low", "high"}


def test_the_loss_stays_within_its_bounds() -> None:
    models = [shortened(measured(4, seed=seed), 4) for seed in (4, 5, 8)]
    chosen = [(model, model.best(BASELINE)) for model in models]
    assert any(best.simplified_from for _, best in chosen)
    for model, best in chosen:
        assert model.learned is not None
        full = best.simplified_from or best.configuration
        mean, deviation = Path(model.learned, BASELINE, (full, best.configuration, BASELINE)).losses
        search = model.options.search
        assert mean[1] <= search.handover_loss * mean[-1]
        assert mean[1] + deviation[1] <= search.handover_risk * mean[-1]


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_the_loss_is_told_in_the_metrics_unit_and_relative_where_much_is_gained(goal: str) -> None:
    """A twentieth of the logarithm of an eightfold gain is a tenth of the gain; of a p99 it is the other way round."""

    def much(configuration: Configuration) -> float:
        return float(qps(configuration, 8) ** 4)

    history = measured(8, goal=goal)
    seen = [
        replace(o, metrics={"m": much(o.configuration) ** (1 if goal == "maximize" else -1)})
        for o in history.observations
    ]
    learned = fitted(replace(history, observations=seen)).learned
    assert learned is not None
    full = max((o.configuration for o in seen), key=much)
    steps = path(learned, full, BASELINE)
    values = learned.wary.latent(learned.wary_inputs(learned.encoding.codes([full, BASELINE, *steps.steps])))[0]
    shares = [(v - v[1]) / (v[0] - v[1]) for v in (values, learned.wary.transform.backward(values))]
    for loss in (0.05, 0.2, 0.5):
        kept = 2 + steps.steps.index(steps.shortest(loss, 99.0))
        assert min(share[kept] for share in shares) >= 1 - loss
        fewer = [min(share[i] for share in shares) for i in range(kept + 1, len(values))]
        assert max(fewer, default=0.0) < 1 - loss


def test_where_little_is_known_of_what_a_setting_does_it_stays_as_it_was_measured() -> None:
    other = Configuration(dict.fromkeys(NAMES, 0.9))
    seen = [Observation(c, {"m": v}) for c, v in ((BASELINE, 1000.0), (other, 2000.0)) for _ in range(3)]
    history = History(KnobSpace(KNOBS), Objective("m", "maximize"), observations=seen, current=other)
    best = fitted(history).best(BASELINE)
    assert (best.configuration, best.simplified_from) == (other, None)


def refusing(test: Callable[[Configuration], bool]) -> Rule:
    return lambda c: Refusal("coupling", "these two go together") if test(c) else None


def test_what_rules_refuse_to_undo_alone_is_undone_together() -> None:
    apart = refusing(lambda c: (c["k6"] == BASELINE["k6"]) != (c["k7"] == BASELINE["k7"]))
    history = measured(2, apart)
    assert ("k6", "k7") in [point.added for point in fitted(history).best(BASELINE).curve]
    best = shortened(history, 2).best(BASELINE)
    assert history.space.refusal(best.configuration) is None
    assert changes(best.configuration) == set(NAMES[:2])


def test_what_rules_keep_from_being_undone_stays() -> None:
    history = measured(2, refusing(lambda c: c != BASELINE and c["k5"] == BASELINE["k5"]))
    assert changes(shortened(history, 2).best(BASELINE).configuration) == {"k0", "k1", "k5"}


def test_what_failed_is_not_what_a_handover_is_shortened_to() -> None:
    model = shortened(measured(2), 2)
    history, short = model.history, model.best(BASELINE).configuration
    failed = replace(history, observations=(*history.observations, Observation.failed(short, "did_not_start")))
    assert fitted(failed).best(BASELINE).configuration != short


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_recommendation_changes_more_than_are_asked_for(most: int) -> None:
    never = refusing(lambda c: float(c["k0"]) + float(c["k1"]) > 1.2)
    start = Configuration(dict.fromkeys(NAMES, 0.5))
    history = replace(measured(3, never, trials=1), warm_starts=(start,), baseline=BASELINE)
    rng = np.random.default_rng(3)
    seen: list[Configuration] = []
    for trial in range(10):
        advice = recommend(history, rng=rng, max_changes=most, options=FAST, safe=trial == 9)
        seen.append(advice.configuration)
        assert len(changes(advice.configuration)) <= most
        assert history.space.refusal(advice.configuration) is None
        reading = Observation(advice.configuration, {"m": qps(advice.configuration, 3)})
        history = replace(history, observations=(*history.observations, reading), current=advice.configuration)
    assert len(set(seen)) >= 8
    best = fitted(history).best(max_changes=most)
    assert len(changes(best.configuration)) <= most
    assert qps(best.configuration, 3) > qps(BASELINE, 3)


def test_a_handover_of_few_changes_is_the_best_of_them() -> None:
    best = fitted(measured(3)).best(BASELINE, max_changes=1)
    assert changes(best.configuration) == {"k0"}
    assert best.origin == "handover"


def test_changes_that_are_not_ahead_when_so_few_are_made_leave_the_baseline() -> None:
    needs_two = [
        Observation({**BASELINE, "k0": a, "k1": b}, {"m": 1000.0 + 500.0 * (a > 0.5 < b)})
        for a in (0.1, 0.9)
        for b in (0.1, 0.9)
        for _ in range(3)
    ]
    history = History(KnobSpace(KNOBS), Objective("m", "maximize"), observations=needs_two, current=BASELINE)
    model = fitted(history)
    assert changes(model.best(BASELINE).configuration) == {"k0", "k1"}
    assert model.best(BASELINE, max_changes=1).configuration == BASELINE
    assert model.best(BASELINE, max_changes=1).origin == "baseline"


def test_few_changes_are_counted_from_something() -> None:
    history = replace(measured(1), current=None)
    for ask in (fitted(history).recommend, fitted(history).best):
        with pytest.raises(ValueError, match="needs a baseline"):
            ask(max_changes=2)
        with pytest.raises(ValueError, match="at least 1"):
            ask(max_changes=0)
