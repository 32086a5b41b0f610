"""The public interface: history in, recommendation out."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lutra_models import Configuration, History, Knob, KnobSpace, Limit, Number, Objective, Observation, Refusal
from lutra_models.errors import NotEnoughObservations, SpaceExhausted
from lutra_models.gp import Snapshot, fit, recommend
from lutra_models.knobs import Choice

from tests.unit.gp.helpers import DEFAULT, SPACE, history, measure

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_without_observations_the_current_configuration_comes_first_without_predictions() -> None:
    advice = recommend(history(0), rng=rng())
    assert advice.configuration == DEFAULT
    assert advice.origin == "current"
    assert not advice.predictions
    assert not advice.reasons


def test_without_a_current_configuration_the_first_start_comes_first_and_then_the_middle() -> None:
    start = DEFAULT.replace({"jit": "off"})
    first = recommend(History(SPACE, Objective("qps", "maximize"), warm_starts=[start]), rng=rng())
    assert (first.origin, first.configuration) == ("rule_based", start)
    middle = recommend(History(SPACE, Objective("qps", "maximize")), rng=rng())
    assert SPACE.parse(middle.configuration) == middle.configuration


def test_a_start_is_tried_after_the_current_configuration() -> None:
    start = DEFAULT.replace({"jit": "off"})
    advice = recommend(history(1, warm_starts=[start]), rng=rng())
    assert (advice.origin, advice.configuration) == ("rule_based", start)
    assert [r.knob for r in advice.reasons] == ["jit"]


@pytest.mark.parametrize("trials", [2, 3, 5, 7, 12, 30])
def test_from_the_third_trial_on_every_target_is_predicted_and_the_configuration_is_legal(trials: int) -> None:
    advice = recommend(history(trials), rng=rng())
    assert SPACE.parse(advice.configuration) == advice.configuration
    assert set(advice.predictions) == {"qps", "p99_ms"}
    assert all(p.level == 0.9 and 0 < p.low < p.median < p.high for p in advice.predictions.values())
    assert {r.knob for r in advice.reasons} == set(DEFAULT.changes_to(advice.configuration))


def test_the_same_zeroedand_seed_give_the_same_bits() -> None:
    one, two = recommend(history(9), rng=rng()), recommend(history(9), rng=rng())
    assert one == two


def test_no_global_random_state_is_touched_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    before = np.random.get_state()[1].copy()
    recommend(history(9), rng=rng())
    assert np.array_equal(before, np.random.get_state()[1])
    assert capfd.readouterr() == ("", "")


def test_a_batch_holds_distinct_configurations() -> None:
    batch = fit(history(10), rng=rng()).recommend(4)
    assert len({r.configuration for r in batch}) == 4


def test_pending_configurations_are_not_proposed_again() -> None:
    first = recommend(history(10), rng=rng())
    second = recommend(history(10, pending=[first.configuration]), rng=rng())
    assert second.configuration != first.configuration


@pytest.mark.slow
def test_a_rule_that_refuses_most_of_the_cube_is_kept() -> None:
    def memory(configuration: Configuration) -> Refusal | None:
        used = float(configuration["shared_buffers"])
        return Refusal("memory_budget_exceeded", f"{used} is too much") if used > 40_000 else None

    space = KnobSpace(SPACE.knobs, rules=[memory])
    for trials in (1, 4, 12):
        past = history(trials)
        tight = History(space, past.objective, observations=past.observations, current=DEFAULT)
        assert space.parse(recommend(tight, rng=rng()).configuration)


def test_where_a_rule_leaves_nothing_to_try_the_recommender_says_which() -> None:
    space = KnobSpace(SPACE.knobs, rules=[lambda c: None if c == DEFAULT else Refusal("no", "only the default")])
    past = history(12)
    tight = History(space, past.objective, observations=past.observations, current=DEFAULT)
    with pytest.raises(SpaceExhausted, match=r"no configuration is left to try: .* are refused: only the default"):
        recommend(tight, rng=rng())


def test_where_few_changes_leave_nothing_to_try_the_recommender_says_so() -> None:
    space = KnobSpace([Knob(name, Choice(("off", "on"))) for name in ("one", "two")])
    default = {"one": "off", "two": "off"}
    tried = [default, {**default, "one": "on"}, {**default, "two": "on"}]
    read = [Observation(c, {"qps": 100.0 + i}) for i, c in enumerate(tried)]
    past = History(space, Objective("qps", "maximize"), observations=read, current=default)
    assert recommend(past, rng=rng()).configuration == {"one": "on", "two": "on"}
    with pytest.raises(SpaceExhausted, match="no untried configuration changes at most 1 settings"):
        recommend(past, rng=rng(), max_changes=1)


def test_observed_values_outside_their_domains_are_legal_history() -> None:
    odd = Observation(DEFAULT.replace({"shared_buffers": 1, "random_page_cost": 400.0}), {"qps": 500.0, "p99_ms": 60.0})
    past = history(8)
    wider = History(SPACE, past.objective, observations=[*past.observations, odd], current=odd.configuration)
    assert SPACE.parse(recommend(wider, rng=rng()).configuration)


def test_only_failures_so_far_still_give_a_legal_configuration_and_no_predictions() -> None:
    failed = [Observation.failed(o.configuration, "did_not_start") for o in history(12).observations[1:]]
    advice = recommend(History(SPACE, Objective("qps", "maximize"), observations=failed, current=DEFAULT), rng=rng())
    assert advice.configuration == DEFAULT
    assert not advice.predictions


@pytest.mark.slow
def test_a_failed_configuration_is_neither_proposed_again_nor_handed_over() -> None:
    past = history(12)
    best = fit(past, rng=rng()).best().configuration
    failed = Observation.failed(best, "did_not_start")
    after = History(SPACE, past.objective, observations=[*past.observations, failed], current=DEFAULT)
    assert fit(after, rng=rng()).best().configuration != best
    assert recommend(after, rng=rng()).configuration != best


@pytest.mark.slow
def test_failures_on_one_side_are_avoided() -> None:
    def observe(configuration: Configuration) -> Observation:
        if float(configuration["shared_buffers"]) > 500_000:
            return Observation.failed(configuration, "did_not_start")
        return Observation(configuration, measure(configuration, rng(3)))

    trials = [observe(o.configuration) for o in history(25).observations]
    after = History(SPACE, Objective("qps", "maximize"), observations=trials, current=DEFAULT)
    proposed = [recommend(after, rng=rng(s)).configuration for s in range(4)]
    assert sum(float(c["shared_buffers"]) > 1_000_000 for c in proposed) == 0


def test_handover_is_a_measured_configuration_near_the_best_or_a_part_of_one() -> None:
    past = history(25)
    best = fit(past, rng=rng()).best().configuration
    parts = [{**DEFAULT, **o.configuration.restrict(DEFAULT.changes_to(best))} for o in past.observations]
    assert best in parts
    quiet = np.random.default_rng(0)
    top = max(measure(o.configuration, quiet)["qps"] for o in past.observations)
    assert measure(best, quiet)["qps"] > 0.85 * top


def test_handover_keeps_the_limits() -> None:
    past = history(25, objective=Objective("p99_ms", "minimize"), limits=[Limit("qps", at_least=1300.0)])
    best = fit(past, rng=rng()).best().configuration
    assert measure(best, np.random.default_rng(0))["qps"] > 1200.0


def test_handover_needs_one_reading_and_a_prediction_two() -> None:
    with pytest.raises(NotEnoughObservations):
        fit(history(0), rng=rng()).best()
    assert fit(history(1), rng=rng()).best().configuration == DEFAULT
    with pytest.raises(NotEnoughObservations):
        fit(history(1), rng=rng()).predict([DEFAULT])
    assert set(fit(history(2), rng=rng()).snapshot.metrics) == {"qps", "p99_ms"}


def test_a_snapshot_survives_json_with_the_same_predictions() -> None:
    snapshot = fit(history(12), rng=rng()).snapshot
    again = Snapshot.from_dict(json.loads(json.dumps(snapshot.to_dict())))
    asked = [o.configuration for o in history(6, seed=9).observations]
    assert again.predict(asked) == snapshot.predict(asked)


def test_predictions_are_wider_far_from_the_data_and_at_a_higher_level() -> None:
    snapshot = fit(history(12), rng=rng()).snapshot
    near, far = snapshot.predict([DEFAULT, DEFAULT.replace({"shared_buffers": 4_000_000, "io_method": "io_uring"})])
    assert far["qps"].high / far["qps"].low > near["qps"].high / near["qps"].low
    narrow = snapshot.predict([DEFAULT], level=0.5)[0]["qps"]
    assert narrow.high - narrow.low < near["qps"].high - near["qps"].low


def test_a_metric_that_some_windows_lack_is_predicted_from_the_others() -> None:
    past = history(8)
    thin = [replace_metrics(o, i) for i, o in enumerate(past.observations)]
    advice = recommend(History(SPACE, past.objective, observations=thin, current=DEFAULT), rng=rng())
    assert set(advice.predictions) == {"qps", "p99_ms"}


def replace_metrics(observation: Observation, i: int) -> Observation:
    keep = {"qps": observation.metrics["qps"]} if i % 2 else observation.metrics
    return Observation(observation.configuration, keep)


def test_many_windows_of_few_configurations_are_one_row_each() -> None:
    few = history(3).observations
    many = [Observation(o.configuration, measure(o.configuration, rng(i))) for i in range(200) for o in few]
    snapshot = fit(History(SPACE, Objective("qps", "maximize"), observations=many), rng=rng()).snapshot
    gp = snapshot.posteriors["qps"]
    assert gp.x.shape[0] == 3
    assert 0.02 < np.sqrt(gp.noise) * gp.transform.scale < 0.045


def test_a_space_of_one_knob_and_equal_readings_is_no_error() -> None:
    space = KnobSpace([Knob("work_mem", Number(64, 65536, "kB", log=True, integer=True))])
    same = [Observation({"work_mem": v}, {"qps": 100.0}) for v in (64, 128, 4096, 65536)]
    advice = recommend(History(space, Objective("qps", "maximize"), observations=same), rng=rng())
    assert advice.configuration["work_mem"] in Number(64, 65536, integer=True)
    assert advice.predictions["qps"].low < 100.0 < advice.predictions["qps"].high


@pytest.mark.parametrize("zeros", [8, 12])
@pytest.mark.parametrize("limited", [True, False])
def test_a_metric_that_mostly_reads_zero_is_no_error(zeros: int, limited: bool) -> None:
    made = history(12)
    seen = [
        Observation(o.configuration, {**o.metrics, "errors": 0.0 if i < zeros else 3.0})
        for i, o in enumerate([*made.observations, *made.observations[:3]])
    ]
    aim, limits = (made.objective, [Limit("errors", at_most=1.0)]) if limited else (Objective("errors", "minimize"), [])
    zeroed = History(SPACE, aim, limits=limits, observations=seen, current=DEFAULT)
    assert SPACE.refusal(recommend(zeroed, rng=rng()).configuration) is None
    assert fit(zeroed, rng=rng()).best().configuration in {o.configuration for o in seen}


def test_reasons_are_sentences_about_the_settings() -> None:
    advice = recommend(history(15), rng=rng())
    for reason in advice.reasons:
        assert reason.knob in reason.sentence
        assert reason.sentence.endswith(".")
        assert reason.effect is not None
    assert replace(advice.reasons[0], effect=None).effect is None


def test_many_windows_of_the_current_configuration_do_not_end_the_opening() -> None:
    windows = [Observation(DEFAULT, measure(DEFAULT, rng(i))) for i in range(30)]
    advice = recommend(History(SPACE, Objective("qps", "maximize"), observations=windows, current=DEFAULT), rng=rng())
    assert advice.origin == "space_filling"


@pytest.mark.slow
def test_four_threads_at_once_get_the_same_bits_as_one() -> None:
    alone = recommend(history(12), rng=rng())
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: recommend(history(12), rng=rng()), range(8)))
    assert all(advice == alone for advice in together)


@pytest.mark.slow
def test_a_fresh_process_gives_the_same_bits() -> None:
    code = (
        "import numpy as np; from lutra_models.gp import recommend; from tests.unit.gp.helpers import history; "
        "a = recommend(history(9), rng=np.random.default_rng(1)); "
        "print(repr((sorted(a.configuration.items()), a.predictions['qps'])), end='')"
    )
    advice = recommend(history(9), rng=rng())
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert printed == repr((sorted(advice.configuration.items()), advice.predictions["qps"]))


@pytest.mark.slow
def test_no_recommendation_lies_where_the_server_answers_with_another_number() -> None:
    seen = history(12)
    made = {o.configuration["shared_buffers"] for o in seen.observations}
    low, high = SPACE["shared_buffers"].domain.low, SPACE["shared_buffers"].domain.high
    cut = max(v for v in made)
    told = replace(seen, server_rounding={"shared_buffers": [(high, cut)]})
    for seed in range(5):
        found = recommend(told, rng=np.random.default_rng(seed)).configuration["shared_buffers"]
        assert low <= found <= cut
