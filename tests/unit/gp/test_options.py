"""Options are part of a model's identity, and each of them is really asked for."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation, Refusal
from lutra_models.errors import InvalidOptions
from lutra_models.evidence import Evidence, Finding, Move
from lutra_models.gp import Options, fit, recommend
from lutra_models.gp.documents import read, toml
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.transfer.index import Index
from lutra_models.gp.transfer.question import Question
from lutra_models.gp.transfer.workload import Workload

from tests.unit.gp.helpers import DEFAULT, SPACE, history

pytestmark = pytest.mark.slow

PLAIN_OPTIONS = Options()


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def names(room: Any, prefix: str = "") -> Iterator[str]:
    """The dotted name of every number and word in a room of options."""
    for field in fields(room):
        value = getattr(room, field.name)
        if is_dataclass(value):
            yield from names(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}"


def watched(room: Any, seen: set[str], prefix: str = "") -> Any:
    """The same options; notes what is read of them."""
    made = {f.name: getattr(room, f.name) for f in fields(room)}
    laid = {n: watched(v, seen, f"{prefix}{n}.") if is_dataclass(v) else v for n, v in made.items()}

    class Watched(type(room)):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            if name in made:
                seen.add(f"{prefix}{name}")
            return super().__getattribute__(name)

    return Watched(**laid)


def counted(observation: Observation, seed: int) -> Observation:
    """With a few counters, so that signatures have something to say."""
    own = np.random.default_rng(seed)
    counters = {f"counter_{i}": float(own.random() + i) for i in range(8)}
    return Observation(observation.configuration, {**observation.metrics, **counters})


def with_counters(trials: int, seed: int = 0) -> History:
    plain = history(trials, seed)
    rows = [counted(o, i) for i, o in enumerate(plain.observations)]
    failed = Observation.failed(DEFAULT.replace({"jit": "off"}), "did_not_start")
    return History(SPACE, plain.objective, observations=[*rows, failed], current=DEFAULT)


def wide() -> History:
    """More knobs than the search moves at once, and a rule."""
    knobs = [Knob(f"k{i}", Number(0, 1)) for i in range(60)] + [Knob("c", Choice(("x", "y", "z")))]
    encoding = Encoding(knobs)
    rows = [encoding.decode(c) for c in encoding.cube(rng(3).random((8, len(knobs))))]
    seen = [Observation(c, {"qps": 100 + 50 * float(c["k3"])}) for c in rows]

    def rule(c: Configuration) -> Refusal | None:
        return Refusal("too_much", "k0 and k1") if float(c["k0"]) + float(c["k1"]) > 0.7 else None

    return History(KnobSpace(knobs, [rule]), Objective("qps", "maximize"), observations=seen, current=rows[0])


def from_a_start(trials: int) -> History:
    """A session with a baseline, whose rule-based start read best."""
    plain = history(trials - 1)
    first = plain.observations[0].configuration
    start = first.replace({"random_page_cost": 1.1})
    seen = [Observation(start, {"qps": 1e6, "p99_ms": 1.0}), *plain.observations]
    return replace(plain, observations=tuple(seen), warm_starts=(start,), baseline=first)


def asked_for(known: History) -> History:
    """The same, with a symptom that speaks for its first setting."""
    name, current = known.space.names[0], known.observations[0].configuration
    move = Move(name, current[name], known.observations[-1].configuration[name], f"Move {name}.")
    fault = Finding("a_symptom", "fault", 1.0, "It was seen.", (name,), (move,))
    return replace(known, current=current, evidence=Evidence("15", 2**30, 2.0, (fault,)))


class Undigested(Options):
    """A digest reads every option, and says nothing of what is used."""

    def to_dict(self) -> dict[str, Any]:
        return {}


@pytest.mark.slow
def test_every_option_is_read_by_some_recommendation() -> None:
    seen: set[str] = set()
    plain = Options()
    options = Undigested(**{f.name: watched(getattr(plain, f.name), seen, f"{f.name}.") for f in fields(plain)})
    past = [with_counters(20, seed=4)]
    sessions = ((with_counters(13), ()), (with_counters(13), past), (with_counters(1), past), (wide(), ()))
    for known, others in (*sessions, (from_a_start(3), ()), (from_a_start(8), ())):
        model = fit(known, others, rng=rng(), options=options)
        model.recommend(2)
        model.recommend(safe=True)
        replace(model, history=asked_for(known)).recommend(safe=True, exploration=1)
        model.best(known.observations[0].configuration)
    index, asked = Index(), Question.of(with_counters(13), "postgresql")
    index.put("wl_1", "postgresql", "db_1", Workload.of(fit(past[0], rng=rng()).snapshot, "qps"))
    index.likeliest(asked, None, 1, options=options)
    assert sorted(set(names(plain)) - seen) == []


def test_the_defaults_are_what_is_served_and_another_number_is_another_identity() -> None:
    assert recommend(history(9), rng=rng()) == recommend(history(9), rng=rng(), options=Options())
    prints = {Options().fingerprint}
    for name in names(Options()):
        value: Any = Options()
        for part in name.split("."):
            value = getattr(value, part)
        other = {str: "other", tuple: (0.5, -0.5)}.get(type(value)) or value + 1
        prints.add(Options().varied(**{name: other}).fingerprint)
    assert len(prints) == 1 + len(list(names(Options())))


def test_options_survive_json_and_a_model_names_those_that_it_was_fitted_with() -> None:
    options = Options().varied(**{"search.opening_trials": 3, "search.moves": [0.5, -0.5], "search.cursory.rounds": 2})
    assert Options.from_dict(json.loads(json.dumps(options.to_dict()))) == options
    assert fit(history(4), rng=rng(), options=options).snapshot.options == options.fingerprint
    assert recommend(history(4), rng=rng(), options=options).origin == "improvement"
    assert recommend(history(4), rng=rng()).origin == "space_filling"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"search.trials": 3}, r"no option search\.trials"),
        ({"search": 3}, r"search\.: 3 is one value"),
        ({"search.opening_trials": 2.5}, r"search\.opening_trials: expected a whole number, got 2\.5"),
        ({"search.opening_trials": -1}, "must not be negative"),
        ({"search.slack": "much"}, r"search\.slack: expected a number, got 'much'"),
        ({"search.slack": float("nan")}, "expected a number"),
        ({"search.moves": []}, r"search\.moves: expected numbers"),
        ({"search.acquisition": 1}, r"search\.acquisition: expected a name, got 1"),
    ],
)
def test_what_is_no_option_is_refused_with_its_name(values: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Options().varied(**values)


def test_a_past_history_is_fitted_anew_for_other_options() -> None:
    wary = Options().varied(**{"surrogate.wary.sigma": 0.1})
    asked = [Configuration(DEFAULT)]
    one, two = (fit(history(4), [history(20, seed=4)], rng=rng(), options=o).predict(asked) for o in (Options(), wary))
    assert one != two


def test_a_key_of_many_parts_takes_no_memory_to_refuse() -> None:
    bombs = [".".join("a" * 32_000) + " = 1", f"[{'.'.join('a' * 32_000)}]", "x = {" + ".".join("a" * 32_000) + " = 1}"]
    for bomb in (*bombs, *(f"# first\n{b}" for b in bombs)):
        tracemalloc.start()
        try:
            with pytest.raises(InvalidOptions, match=r"line \d has 64,0\d\d characters"):
                read(bomb, "toml")
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()


def test_the_longest_document_is_read_back() -> None:
    longest = replace(PLAIN_OPTIONS, search=replace(PLAIN_OPTIONS.search, moves=(-0.12345678901234567,) * 16))
    assert read(toml(longest), "toml") == longest
    assert "# Range: from -1 to 1, at most 16 of them." in toml(longest)
