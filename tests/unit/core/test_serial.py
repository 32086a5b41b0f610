from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models import Choice, History, Knob, KnobSpace, Limit, Number, Objective, Observation, Window
from lutra_models.catalog import meet
from lutra_models.serial import (
    history_from_dict,
    history_to_dict,
    policy_from_dict,
    policy_to_dict,
    settings_from_dict,
    settings_to_dict,
)
from lutra_models.server import Policy, ServerSetting

from tests.support.reported.postgresql import a_server

SPACE = KnobSpace(
    [
        Knob("memory", Number(64, 4096, unit="kB", log=True, integer=True, special=(-1,))),
        Knob("cost", Number(0.1, 10), applies="restart"),
        Knob("jit", Choice(("off", "on")), risk="availability"),
    ]
)
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

configurations = st.fixed_dictionaries(
    {
        "memory": st.sampled_from([-1, 64, 4096, 100_000]),
        "cost": st.floats(0.1, 10),
        "jit": st.sampled_from(["on", "off"]),
    }
)
metrics = st.dictionaries(st.sampled_from(["qps", "p99_ms", "hits"]), st.floats(0, 1e18), min_size=1)
observations = st.builds(
    lambda c, m, failed: Observation.failed(c, "did_not_start") if failed else Observation(c, m, window=_window()),
    configurations,
    metrics,
    st.booleans(),
)


def _window() -> Window:
    return Window(NOW, NOW + timedelta(seconds=10))


@given(st.lists(observations, max_size=5), configurations, st.none() | configurations)
def test_a_history_comes_back_as_the_same_question(
    seen: list[Observation], start: dict[str, object], current: dict[str, object] | None
) -> None:
    history = History(
        SPACE,
        Objective("p99_ms", "minimize"),
        limits=[Limit("qps", at_least=900.0)],
        observations=seen,
        pending=[start],
        current=current,
        warm_starts=[start],
        context={"engine_version": "18", "threads": 16},
    )
    document = json.loads(json.dumps(history_to_dict(history)))
    again = history_from_dict(document)
    assert again.key == history.key
    assert again.observations == history.observations
    assert again.space.knobs == history.space.knobs
    assert history_to_dict(again) == document


RECORDED = {
    "format": 1,
    "knobs": [
        {
            "name": "memory",
            "applies": "reload",
            "risk": "none",
            "domain": {
                "low": 64,
                "high": 4096,
                "unit": "kB",
                "log": True,
                "integer": True,
                "special": [-1],
                "step": 1,
            },
        },
        {"name": "jit", "applies": "reload", "risk": "availability", "domain": {"options": ["off", "on"]}},
    ],
    "objective": {"metric": "qps", "goal": "maximize"},
    "limits": [{"metric": "p99_ms", "at_most": 20, "at_least": None}],
    "observations": [
        {
            "configuration": {"memory": 128, "jit": "on"},
            "metrics": {"qps": 900.5},
            "context": None,
            "window": ["2026-01-02T03:04:05.678901+00:00", "2026-01-02T03:04:15.678901+00:00"],
            "failure": None,
        },
        {
            "configuration": {"memory": 4096, "jit": "off"},
            "metrics": {},
            "context": None,
            "window": None,
            "failure": "did_not_start",
        },
        {
            "configuration": {"memory": 64, "jit": "on"},
            "metrics": {"tps": 1.0},
            "context": None,
            "window": None,
            "failure": None,
            "bounds": {"qps": 700.0},
        },
    ],
    "pending": [{"memory": 128, "jit": "on"}],
    "current": {"memory": 128, "jit": "on"},
    "starts": [{"memory": 256, "jit": "off"}],
    "context": {"threads": 8},
    "answers": {"memory": [[100, 128]]},
    "baseline": {"memory": 128, "jit": "on"},
    "aim": None,
}
"""As a service stored it, whatever the fields are called in Python."""


def test_a_recorded_history_asks_the_same_question_as_when_it_was_recorded() -> None:
    history = history_from_dict(RECORDED)
    assert history.key == "e8873139c9869ff6"
    assert json.dumps(history_to_dict(history)) == json.dumps(RECORDED)
    assert history.warm_starts == ({"memory": 256, "jit": "off"},)
    assert history.server_rounding == {"memory": ((100, 128),)}


def test_the_memory_rules_come_back_with_the_server_and_the_policy() -> None:
    server, policy = a_server("16", memory_gb=1), Policy(memory_fraction=0.5)
    space = meet(server).space(policy)
    history = History(space, Objective("qps", "maximize"), current=meet(server).values)
    document = json.loads(json.dumps(history_to_dict(history, server, policy)))
    again = history_from_dict(document)
    assert again.current is not None
    too_much = again.current.replace({"shared_buffers": 131072})
    refusal = again.space.refusal(too_much)
    assert refusal is not None
    assert refusal == space.refusal(too_much)
    assert not history_from_dict(json.loads(json.dumps(history_to_dict(history)))).space.rules


def test_a_policy_comes_back_whole() -> None:
    policy = Policy({"work_mem": "4MB"}, {"jit_above_cost": (1, 5.5)}, frozenset({"work_mem", "jit"}), False, True, 0.5)
    assert policy_from_dict(json.loads(json.dumps(policy_to_dict(policy)))) == policy


@pytest.mark.parametrize("number", [20, 20.0])
def test_a_number_keeps_its_kind_since_the_key_is_made_of_its_digits(number: float) -> None:
    space = KnobSpace([Knob("cost", Number(number, 4 * number, special=(number - 21,)))])
    limits = [Limit("p99_ms", at_most=number)]
    observed = Observation({"cost": number}, {"qps": 1}, context={"threads": number})
    history = History(
        space, Objective("qps", "maximize"), limits=limits, observations=[observed], pending=[{"cost": 9}]
    )
    text = json.dumps(history_to_dict(history))
    again = history_from_dict(json.loads(text))
    assert again.key == history.key
    assert json.dumps(history_to_dict(again)) == text
    setting = {"cost": ServerSetting("20", low=number, high=4 * number)}
    assert json.dumps(settings_to_dict(settings_from_dict(settings_to_dict(setting)))) == json.dumps(
        settings_to_dict(setting)
    )


def test_a_document_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown history format 9"):
        history_from_dict({"format": 9})
