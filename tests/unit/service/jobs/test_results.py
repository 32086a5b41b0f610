from __future__ import annotations

from collections.abc import Callable

import pytest
from lutra_service.app.jobs.results import InvalidAnswer, checked

from tests.support.service.hosted import Document, a_model

REQUEST: Document = {
    "history": {
        "knobs": [
            {
                "name": "work_mem",
                "applies": "reload",
                "risk": "none",
                "domain": {"low": 64, "high": 65536, "unit": "kB", "log": True, "integer": True, "special": []},
            }
        ],
        "current": {"work_mem": 4096},
        "observations": [{}],
    },
    "baseline": {"work_mem": 4096},
    "past": [],
}


def answer(**parts: object) -> Document:
    right: Document = {
        "configuration": {"work_mem": 8192},
        "origin": "improvement",
        "predictions": {},
        "reasons": [],
        "snapshot": a_model(REQUEST),
        "observations": 1,
    }
    return {**right, **parts}


def test_a_right_answer_is_taken_as_it_came() -> None:
    right = answer()
    assert checked(right, REQUEST) is right


def wide(model: Document) -> None:
    model["posteriors"]["qps"]["x"] = [[0.5] * 20_000]


def tall(model: Document) -> None:
    model["posteriors"]["qps"]["x"] *= 5_000


def broadcast(model: Document) -> None:
    model["posteriors"]["qps"]["covariance"]["lengthscales"] *= 5_000


def alien(model: Document) -> None:
    model["knobs"][0]["name"] = "fsync"


def without_numbers(model: Document) -> None:
    model["posteriors"]["qps"]["z"] = [float("inf")]


def another_format(model: Document) -> None:
    model["format"] = 9


@pytest.mark.parametrize("change", [wide, tall, broadcast, alien, without_numbers, another_format])
def test_a_model_that_could_not_be_used_or_could_not_be_held_is_refused(change: Callable[[Document], None]) -> None:
    model = a_model(REQUEST)
    change(model)
    with pytest.raises(InvalidAnswer, match="model"):
        checked(answer(snapshot=model), REQUEST)


@pytest.mark.parametrize(
    "parts",
    [
        {"configuration": {}},
        {"configuration": {"work_mem": float("inf")}},
        {"configuration": {"work_mem": True}},
        {"configuration": {"work_mem": [1]}},
        {"configuration": {"__class__": 1, "work_mem": 1}},
        {"origin": None},
        {"predictions": {"qps": None}},
        {"predictions": {"q" * 200: {}}},
        {"reasons": [{}] * 501},
        {"snapshot": []},
        {"observations": 1.5},
        {"curve": [{"settings": 1}]},
        {"curve": [{"settings": 1, "added": ["fsync"], "share": 1.0, "low": 1.0, "high": 1.0}]},
        {"curve": [{"settings": 1, "added": [], "share": float("nan"), "low": 1.0, "high": 1.0}]},
        {"shortened_from": {}},
        {"shortened_from": {"fsync": 1}},
    ],
)
def test_parts_that_are_none_are_refused(parts: Document) -> None:
    with pytest.raises(InvalidAnswer):
        checked(answer(**parts), REQUEST)
