"""Past workloads: what they bring, and when they are dropped."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.gp import Snapshot, fit, recommend
from lutra_models.gp.options import DEFAULT as KNOWN
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.space.space_map import Bridge
from lutra_models.gp.transfer import similarity
from lutra_models.gp.transfer.contexts import split
from lutra_models.gp.transfer.signature import signature, telling

from tests.unit.gp.helpers import DEFAULT, SPACE, history, measure

pytestmark = pytest.mark.slow

OTHER = KnobSpace(
    [
        Knob("shared_buffers", Number(32768, 1048576, unit="8kB", log=True, integer=True)),
        Knob("jit", Choice(("off", "on"))),
        Knob("max_wal_size", Number(64, 65536, "MB", log=True, integer=True)),
        Knob("wal_buffers", Number(8, 4096, unit="8kB", log=True, integer=True, special=(-1,))),
    ]
)
OBJECTIVE = Objective("qps", "maximize")


def past(rows: int = 40, sign: float = 1.0) -> History:
    """Another workload on a machine ten times as fast; with sign -1 everything is the other way round."""
    rng = np.random.default_rng(5)
    encoding = Encoding(OTHER.knobs)
    observations = []
    for code in encoding.cube(rng.random((rows, len(OTHER)))):
        c = encoding.decode(code)
        memory = math.log(float(c["shared_buffers"]) / 16384) / math.log(256)
        effect = sign * (memory + (0.15 if c["jit"] == "off" else 0.0))
        qps = 10_000 * math.exp(effect + 0.03 * rng.standard_normal())
        counters = {"reads": 1e6 / qps, "hits": 1 + memory, "both": 2e6 / qps, "constant": 1.0, "noise": rng.random()}
        observations.append(Observation(c, {"qps": qps, **counters}))
    return History(OTHER, OBJECTIVE, observations=observations)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_codes_cross_to_another_space_by_their_values() -> None:
    here, there = Encoding(SPACE.knobs), Encoding(OTHER.knobs)
    home = Configuration({"shared_buffers": 65536, "jit": "on", "max_wal_size": 1024, "wal_buffers": 64})
    bridge = Bridge(here, there, there.codes([home])[0])
    assert set(bridge.shared) == {"shared_buffers", "jit", "wal_buffers"}
    crossed = there.decode(bridge.codes(here.codes([DEFAULT.replace({"shared_buffers": 262144})]))[0])
    assert crossed == {"shared_buffers": 262144, "jit": "on", "max_wal_size": 1024, "wal_buffers": -1}


def test_with_a_past_workload_the_second_trial_already_goes_where_it_was_good() -> None:
    warm = recommend(history(1), past=[past()], rng=rng())
    assert warm.origin == "improvement"
    assert float(warm.configuration["shared_buffers"]) > 400_000
    assert warm.configuration["jit"] == "off"


def test_a_past_history_and_its_snapshot_give_the_same_recommendation() -> None:
    stored = Snapshot.from_dict(json.loads(json.dumps(fit(past(), rng=rng(0)).snapshot.to_dict())))
    one, two = (recommend(history(4), past=[p], rng=rng()) for p in (past(), stored))
    assert one.configuration == two.configuration
    assert one.predictions["qps"].median == two.predictions["qps"].median


def test_a_past_workload_narrows_what_little_data_leave_open() -> None:
    asked = [DEFAULT.replace({"shared_buffers": 2_000_000})]
    alone = fit(history(4), rng=rng()).predict(asked)[0]["qps"]
    helped = fit(history(4), past=[past()], rng=rng()).predict(asked)[0]["qps"]
    truth = measure(asked[0], rng(0))["qps"]
    assert abs(math.log(helped.median / truth)) < abs(math.log(alone.median / truth)) + 0.1


def test_a_past_workload_that_ranks_the_other_way_round_is_dropped() -> None:
    snapshot = fit(history(12), past=[past(sign=-1.0)], rng=rng()).snapshot
    assert snapshot.trends["qps"] == ()
    assert fit(history(12), past=[past()], rng=rng()).snapshot.trends["qps"] != ()


def test_a_snapshot_with_trends_survives_json() -> None:
    snapshot = fit(history(6), past=[past()], rng=rng()).snapshot
    assert snapshot.trends["qps"]
    again = Snapshot.from_dict(json.loads(json.dumps(snapshot.to_dict())))
    asked = [o.configuration for o in history(5, seed=3).observations]
    assert again.predict(asked) == snapshot.predict(asked)


def test_a_past_workload_without_the_metric_or_any_common_knob_changes_nothing() -> None:
    alien = KnobSpace([Knob("unheard_of", Number(0, 1))])
    rows = [Observation({"unheard_of": u}, {"qps": 1 + u}) for u in (0.1, 0.5, 0.9)]
    strange = History(alien, OBJECTIVE, observations=rows)
    other_metric = History(SPACE, Objective("tps", "maximize"), observations=[Observation(DEFAULT, {"tps": 5.0})] * 2)
    cold = recommend(history(10), rng=rng())
    assert recommend(history(10), past=[strange, other_metric], rng=rng()).configuration == cold.configuration


def deciles(low: float, high: float) -> tuple[float, ...]:
    return tuple(np.linspace(low, high, 11).tolist())


def test_signatures_map_a_workload_to_the_nearest() -> None:
    here = {"reads": 10.0, "hits": 0.5}
    edge, near = (
        {"reads": deciles(9.0, 500.0), "hits": deciles(0.0, 0.6)},
        {"reads": deciles(1, 30), "hits": deciles(0, 1)},
    )
    apart = similarity.distances(similarity.places(here, [edge, near, {"other": deciles(0, 1)}]))
    assert apart[1] < apart[0] < apart[2]


def test_a_workload_whose_counters_lie_outside_all_that_a_past_one_showed_is_a_stranger() -> None:
    here = {"reads": 10.0, "hits": 0.5}
    kin, stranger = (
        {"reads": deciles(1, 30), "hits": deciles(0, 1)},
        {"reads": deciles(900, 5000), "hits": deciles(0, 1)},
    )
    assert similarity.strangers(similarity.places(here, [kin, stranger, {}])).tolist() == [False, True, False]


def test_before_anything_is_ranked_the_nearest_signature_weighs_most() -> None:
    before = similarity.closeness([np.array([0.8]), np.array([0.1])], np.zeros(2))
    assert before[1] > before[0] > 0
    assert math.isclose(float(np.sum(before)), 1.0)
    assert similarity.weights(np.zeros(1), np.ones(1), np.zeros((2, 1)), np.ones((2, 1)), before) is before


def test_of_two_without_counters_the_one_with_the_same_level_weighs_most() -> None:
    nothing = [np.zeros(0)] * 2
    before = similarity.closeness(nothing, np.array([math.log(1000.0), 0.0]))
    assert before[1] > 0.99
    assert similarity.closeness(nothing[:1], np.array([math.log(1000.0)])).tolist() == [1.0]


def test_of_two_alike_the_one_on_the_same_kernel_and_allocator_weighs_most() -> None:
    here = {"cores": 4, "kernel": "6.18", "allocator": "jemalloc", "device": "nvme"}
    same, other, silent = here, {**here, "kernel": "5.10", "allocator": "its own"}, {"cores": 4}
    apart = [similarity.circumstances_apart(here, there, KNOWN.transfer) for there in (same, other, silent)]
    assert apart == [0.0, 2 * KNOWN.transfer.context * KNOWN.transfer.other_text, 0.0]
    before = similarity.closeness([np.array([0.3])] * 3, np.array(apart))
    assert before[0] == before[2] == pytest.approx(before[1] * math.e)


def test_nobody_listens_to_a_stranger() -> None:
    where = [np.array([2.0, 2.0]), np.array([0.9, 0.9])]
    assert similarity.closeness(where, np.zeros(2)).tolist() == [0.0, 1.0]
    alone = similarity.closeness(where[:1], np.zeros(1))
    assert alone.tolist() == [0.0]
    rows = np.zeros((1, 3))
    assert similarity.weights(np.arange(3.0), np.ones(3), rows, rows + 1.0, alone).tolist() == [0.0]


def weights_among_twenty(kin: bool, n: int = 12) -> np.ndarray:
    """Twenty past workloads of which nothing but their rankings is known; the fourth ranks as is measured, or not."""
    generator = rng(3)
    z = generator.standard_normal(n)
    means = generator.standard_normal((20, n))
    if kin:
        means[3] = 5.0 * z + 0.3 * generator.standard_normal(n)
    return similarity.weights(z, np.full(n, 0.01), means, np.full((20, n), 0.05), np.full(20, 0.05))


def test_of_twenty_the_one_that_ranks_as_is_measured_is_found() -> None:
    w = weights_among_twenty(kin=True)
    assert w[3] > 0.9


def test_of_twenty_strangers_none_is_listened_to() -> None:
    assert not np.any(weights_among_twenty(kin=False))


def test_at_most_three_are_listened_to_once_there_is_something_to_rank() -> None:
    z = np.linspace(-1.0, 1.0, 6)
    means = z + 0.1 * rng().standard_normal((20, 6))
    w = similarity.weights(z, np.full(6, 0.01), means, np.full((20, 6), 0.05), np.full(20, 0.05))
    assert np.count_nonzero(w) == 3


def test_a_past_workload_that_is_sure_of_nothing_is_as_good_as_silence() -> None:
    z = np.array([0.0, 1.0, -1.0])
    vague = similarity.ranking(z, np.full(3, 0.01), np.zeros(3), np.ones(3))
    assert math.isclose(vague, similarity.silent(3))
    assert similarity.ranking(z, np.full(3, 0.01), z, np.full(3, 0.01)) > vague
    assert similarity.ranking(z, np.full(3, 0.01), -z, np.full(3, 0.01)) < vague


def test_a_past_workload_whose_readings_were_dealt_out_at_random_changes_nothing() -> None:
    kin = past()
    dealt = rng(6).permutation(len(kin.observations))
    rows = [
        Observation(o.configuration, kin.observations[i].metrics) for o, i in zip(kin.observations, dealt, strict=True)
    ]
    scrambled = History(kin.space, kin.objective, observations=rows)
    assert fit(history(4), past=[scrambled], rng=rng()).snapshot.trends["qps"] == ()
    assert fit(history(4), past=[kin], rng=rng()).snapshot.trends["qps"] != ()


def test_counters_that_move_together_are_represented_by_one() -> None:
    generator = rng(2)
    a, b = generator.standard_normal((2, 200))
    table = np.column_stack([a, a + 0.01 * generator.standard_normal(200), b, b * 3, -b, np.ones(200)])
    kept = telling(np.exp(table))
    assert 5 not in kept
    assert len([i for i in kept if i in (0, 1)]) >= 1
    assert len(kept) < 5


def test_a_signature_holds_counters_and_no_targets() -> None:
    kept = signature(past())
    assert kept
    assert "qps" not in kept
    assert "constant" not in kept
    assert signature(history(5)) == {}


def in_context(observation: Observation, **context: object) -> Observation:
    return Observation(observation.configuration, observation.metrics, context=context)


def test_readings_of_another_context_are_a_past_workload() -> None:
    many = [in_context(o, threads=16, engine_version="17") for o in history(6).observations]
    few = [Observation(o.configuration, {"qps": o.metrics["qps"] * 5}, context={"threads": 200}) for o in past_like()]
    mixed = History(SPACE, OBJECTIVE, observations=[*many, *few], current=DEFAULT, context={"threads": 16})
    own, others = split(mixed)
    assert len(own.observations) == 6
    assert [len(o.observations) for o in others] == [len(few)]
    predicted = fit(mixed, rng=rng()).predict([DEFAULT])[0]["qps"]
    assert predicted.high < 2 * many[0].metrics["qps"]


def past_like() -> tuple[Observation, ...]:
    return history(20, seed=8).observations


def test_a_history_of_one_context_stays_whole() -> None:
    same = [in_context(o, threads=t) for o, t in zip(history(4).observations, (16, 17, 15, 16), strict=True)]
    whole = History(SPACE, OBJECTIVE, observations=same, context={"threads": 16})
    assert split(whole) == (whole, ())
    assert split(history(4))[1] == ()


def test_before_its_own_load_was_measured_the_readings_of_others_are_no_readings_of_it() -> None:
    elsewhere = [in_context(o, clients=c) for c in (8, 64) for o in history(4).observations]
    changed = History(SPACE, OBJECTIVE, observations=elsewhere, current=DEFAULT, context={"clients": 256})
    own, others = split(changed)
    assert own.observations == ()
    assert [(o.context, len(o.observations)) for o in others] == [({"clients": 8}, 4), ({"clients": 64}, 4)]
    first = recommend(changed, rng=rng())
    assert (first.origin, first.configuration, first.predictions) == ("current", DEFAULT, {})
