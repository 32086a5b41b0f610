"""The memory of past workloads: what they taught, and which of many are likeliest to be alike."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.gp import fit
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.transfer import similarity
from lutra_models.gp.transfer.certainty import RATE, chances
from lutra_models.gp.transfer.choice import chosen
from lutra_models.gp.transfer.effects import Effect
from lutra_models.gp.transfer.index import Index
from lutra_models.gp.transfer.merging import says_the_same
from lutra_models.gp.transfer.question import Question
from lutra_models.gp.transfer.workload import Lesson, Workload

pytestmark = pytest.mark.slow

SPACE = KnobSpace(
    [
        Knob("pool", Number(64, 65536, "MB", log=True, integer=True)),
        Knob("cost", Number(1.0, 8.0)),
        Knob("jit", Choice(("on", "off", "auto"))),
        Knob("wal", Number(1, 1024, "MB", log=True, integer=True, special=(-1,))),
    ]
)
OBJECTIVE = Objective("qps", "maximize")


def workload(seed: int, sign: float = 1.0, rows: int = 40, level: float = 1000.0, reads: float = 100.0) -> History:
    """A session whose throughput grows with the pool, or falls with sign -1, and is best without JIT."""
    rng, encoding = np.random.default_rng(seed), Encoding(SPACE.knobs)
    observations = []
    for code in encoding.cube(rng.random((rows, len(SPACE)))):
        c = encoding.decode(code)
        pool = math.log(float(c["pool"]) / 64) / math.log(1024)
        effect = sign * (pool + (0.3 if c["jit"] == "off" else 0.0) + (0.4 if c["wal"] == -1 else 0.0))
        qps = level * math.exp(effect + 0.02 * rng.standard_normal())
        counters = {f"counter_{i}": reads * (1 + rng.random()) * (i + 1) for i in range(5)}
        observations.append(Observation(c, {"qps": qps, **counters}))
    return History(SPACE, OBJECTIVE, observations=observations, context={"cores": 8, "engine_version": "16"})


def remembered(history: History) -> Workload:
    return Workload.of(fit(history, rng=np.random.default_rng(0)).snapshot, "qps")


@pytest.fixture(scope="module")
def taught() -> Workload:
    return remembered(workload(1))


@pytest.fixture(scope="module")
def opposite() -> Workload:
    return remembered(workload(2, sign=-1.0))


def effect(found: Workload, setting: str) -> Effect:
    return next(e for e in found.lessons["qps"].effects if e.setting == setting)


def test_what_a_workload_taught_is_the_size_and_direction_of_each_effect(taught: Workload) -> None:
    pool, jit, wal = (effect(taught, name) for name in ("pool", "jit", "wal"))
    assert pool.gains[0] < pool.gains[-1]
    assert 0.6 < pool.gains[-1] - pool.gains[0] < 1.3
    assert pool.gains[pool.values.index(pool.baseline)] == 0.0
    assert (pool.best, pool.gain) == (pool.values[-1], pool.gains[-1])
    assert dict(zip(jit.values, jit.gains, strict=True))["off"] == max(jit.gains)
    assert wal.at([-1])[0] > wal.at([32])[0] + 0.2
    settings = [e.setting for e in taught.lessons["qps"].effects]
    assert settings.index("cost") > settings.index("pool"), "the strongest comes first"
    assert all(0.0 < e.deviation < 0.5 for e in taught.lessons["qps"].effects)


def table(seed: int, rows: int) -> History:
    """Twenty settings, of which two matter, and noise that is as large as they are."""
    rng, space = np.random.default_rng(seed), KnobSpace([Knob(f"s{i}", Number(0, 1)) for i in range(20)])
    points = rng.random((rows, len(space)))
    logs = 0.8 * points[:, 3] - 0.6 * points[:, 7] + 0.3 * rng.standard_normal(rows)
    read = [
        Observation(dict(zip(space.names, p, strict=True)), {"qps": math.exp(q)})
        for p, q in zip(points, logs, strict=True)
    ]
    return History(space, OBJECTIVE, observations=read, current=dict.fromkeys(space.names, 0.5))


def test_what_one_sample_is_certain_of_is_so_in_another_one() -> None:
    claims = 0
    for seed in (21, 22):
        one, other = (remembered(table(2 * seed + half, 60)).lessons["qps"].effects for half in (0, 1))
        known = {e.setting: e for e in other}
        for said in (e for e in one if e.certain):
            value, claim = said.largest
            claims += 1
            assert claim * known[said.setting].at([value])[0] > 0
    assert claims >= 2, "what matters as much as noise does is found in sixty rows"


def test_of_shuffled_readings_hardly_anything_is_certain() -> None:
    encoding, rng = Encoding(table(0, 1).space.knobs), np.random.default_rng(5)
    moved = []
    for seed in range(60):
        codes = rng.random((40 if seed % 2 else 120, len(encoding.knobs)))
        found = chances(encoding, codes, np.exp(2.0 * rng.standard_normal(len(codes))))
        moved.append(sum(chance <= RATE for chance in found.values()))
    assert sum(map(bool, moved)) <= 9, "three of sixty tables are expected to have one, nine are a chance of 1 in 250"
    assert sum(moved) <= 0.02 * 60 * len(encoding.knobs)


def test_a_setting_that_nobody_moved_has_no_effect() -> None:
    history = workload(3)
    still = [replace_in(o, "cost", 4.0) for o in history.observations]
    assert "cost" not in {e.setting for e in remembered(replace(history, observations=still)).lessons["qps"].effects}


def replace_in(observation: Observation, name: str, value: float) -> Observation:
    return Observation(observation.configuration.replace({name: value}), observation.metrics)


def test_a_workload_comes_back_from_its_document_as_it_was(taught: Workload) -> None:
    document = json.loads(json.dumps(taught.to_dict()))
    assert Workload.from_dict(document).to_dict() == taught.to_dict()
    with pytest.raises(ValueError, match="pool: 2 values and 1 gains"):
        Effect.from_dict({"setting": "pool", "values": [1, 2], "gains": [0.1], "deviation": 0.1, "deviations": [0.1]})


def filled(taught: Workload, opposite: Workload, copies: int = 3) -> Index:
    index = Index()
    for i in range(copies):
        index.put(f"wl_alike_{i}", "postgresql", f"db_{i}", taught)
        index.put(f"wl_other_{i}", "postgresql", f"db_{i}", opposite)
    return index


OWNERS = tuple(f"db_{i}" for i in range(3))


def test_the_pairs_that_were_measured_tell_who_is_alike(taught: Workload, opposite: Workload) -> None:
    index = filled(taught, opposite)
    for sign, alike in ((1.0, "alike"), (-1.0, "other")):
        asked = Question.of(workload(7, sign=sign, rows=6), "postgresql")
        assert all(alike in id_ for id_ in index.likeliest(asked, OWNERS, 8)[:3])


def test_engine_owner_and_metric_are_never_looked_past(taught: Workload, opposite: Workload) -> None:
    index, asked = filled(taught, opposite), Question.of(workload(7, rows=6), "postgresql")
    assert index.likeliest(replace(asked, engine="mysql"), OWNERS, 8) == []
    assert index.likeliest(replace(asked, metric="p99_ms"), OWNERS, 8) == []
    assert index.likeliest(asked, (), 8) == []
    assert set(index.likeliest(asked, ("db_1",), 8)) == {"wl_alike_1", "wl_other_1"}
    assert "wl_alike_1" not in index.likeliest(asked, OWNERS, 8, without=["wl_alike_1"])


def test_whose_counters_lie_elsewhere_is_a_stranger(taught: Workload) -> None:
    index = Index()
    index.put("wl_1", "postgresql", "db_1", taught)
    near, far = (Question.of(workload(9, rows=6, reads=r), "postgresql") for r in (100.0, 1e6))
    assert index.likeliest(near, ("db_1",), 8) == ["wl_1"]
    assert index.likeliest(far, ("db_1",), 8) == []


def test_before_anything_was_measured_the_circumstances_tell(taught: Workload) -> None:
    index = Index()
    for cores in (8, 64):
        index.put(f"wl_{cores}", "postgresql", "db_1", replace(taught, context={**taught.context, "cores": cores}))
    history = workload(9, rows=0)
    assert index.likeliest(Question.of(history, "postgresql"), ("db_1",), 8) == ["wl_8", "wl_64"]
    larger = replace(history, context={"cores": 48})
    assert index.likeliest(Question.of(larger, "postgresql"), ("db_1",), 8) == ["wl_64", "wl_8"]


def test_a_workload_of_another_kernel_comes_later_however_much_its_context_says(taught: Workload) -> None:
    index = Index()
    load = {f"a_driver_says_{n}": n for n in range(12)}
    for kernel in ("5.10", "6.18"):
        index.put(f"wl_{kernel}", "postgresql", "db_1", replace(taught, context={**load, "kernel": kernel}))
    for kernel, first in (("6.18", "wl_6.18"), ("5.10", "wl_5.10")):
        asked = replace(workload(9, rows=6), context={**load, "kernel": kernel})
        assert index.likeliest(Question.of(asked, "postgresql"), ("db_1",), 8)[0] == first


def test_the_index_says_of_many_what_the_exact_ranking_says_of_one(taught: Workload, opposite: Workload) -> None:
    from lutra_models.gp.options import DEFAULT
    from lutra_models.gp.transfer.columns import Names
    from lutra_models.gp.transfer.effects import total
    from lutra_models.gp.transfer.strongest import Strongest

    asked = Question.of(workload(7, rows=9), "postgresql")
    lessons, rows = Strongest(Names()), np.arange(2)
    for row, found in enumerate((taught, opposite)):
        lessons.put(row, found.lessons["qps"])
    told = lessons.claims(rows, asked, 40, DEFAULT)
    for row, found in enumerate((taught, opposite)):
        lesson = found.lessons["qps"]
        mean, doubt = total(lesson.effects, asked.configurations), np.full(9, lesson.doubt)
        noise = np.full(9, DEFAULT.targets.noise**2)
        assert told[row] == pytest.approx(float(similarity.ranking(asked.scaled, noise, mean, doubt)), rel=1e-3)


def test_what_was_put_last_counts_and_what_was_dropped_is_gone(taught: Workload, opposite: Workload) -> None:
    index, asked = Index(most=100), Question.of(workload(7, rows=6), "postgresql")
    for i in range(150):
        index.put(f"wl_{i:03d}", "postgresql", "db_1", opposite)
    assert len(index) == 100
    assert "wl_049" not in index
    index.put("wl_120", "postgresql", "db_1", taught)
    assert index.likeliest(asked, ("db_1",), 3)[0] == "wl_120"
    index.drop("wl_120")
    index.drop("wl_120")
    assert (len(index), "wl_120" in index.likeliest(asked, ("db_1",), 100)) == (99, False)


def test_no_owner_pushes_the_others_out() -> None:
    told = [("a1", "a"), ("a2", "a"), ("me1", "me"), ("b1", "b"), ("me2", "me"), ("c1", "c")]
    assert chosen(told, "me") == ["a1", "me1", "b1", "me2", "c1"]
    assert chosen(told, "me", count=2) == ["a1", "me1"]


def test_workloads_that_say_the_same_are_one(taught: Workload, opposite: Workload) -> None:
    again, lesson = remembered(workload(4)), taught.lessons["qps"]
    assert says_the_same(taught, again, "qps")
    assert not says_the_same(taught, opposite, "qps")
    assert not says_the_same(taught, replace(again, context={"cores": 64}), "qps")
    risen = Lesson(lesson.log, lesson.low + 3, lesson.high + 3, lesson.rest, lesson.effects)
    assert not says_the_same(taught, replace(again, lessons={"qps": risen}), "qps")
    assert not says_the_same(taught, again, "p99_ms")


def test_a_text_or_a_setting_that_the_memory_never_met_says_nothing(taught: Workload) -> None:
    index = Index()
    index.put("wl_1", "postgresql", "db_1", taught)
    strange = [Observation(Configuration({"jit": "later", "new": i}), {"qps": 900.0 + i}) for i in range(4)]
    space = KnobSpace([Knob("jit", Choice(("later", "never"))), Knob("new", Number(0, 9))])
    asked = Question.of(History(space, OBJECTIVE, observations=strange), "postgresql")
    assert index.likeliest(asked, ("db_1",), 8) == ["wl_1"]
