"""The worker's tasks without mathematics. Light: a worker's process imports it at each start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lutra_models import serial
from lutra_models.history import History
from lutra_models.verification import contest_from_dict, verdict

Document = dict[str, Any]


class Fakes:
    """The worker's tasks, without mathematics: the current configuration first, then steps along work_mem."""

    def broken_parts(self, request: Mapping[str, Any]) -> Document:
        return {"broken": []}

    def recommend(self, request: Mapping[str, Any]) -> Document:
        history = serial.history_from_dict(request["history"])
        current = history.current
        assert current is not None
        count = len(history.observations)
        if count == 0:
            return answer(dict(current), "current", count)
        work_mem = 4096 + 1024 * max(1, request["entropy"][1] - 1)
        predictions = {"qps": {"median": 900.0, "low": 500.0, "high": 1500.0, "level": 0.9, "far": False}}
        return answer({**current, "work_mem": work_mem}, "improvement", count, predictions if count > 1 else {})

    def handover(self, request: Mapping[str, Any]) -> Document:
        history = serial.history_from_dict(request["history"])
        if "verification" in request:
            return verified(request, history)
        best = max(history.completed, key=lambda o: o.metrics["qps"])
        return answer(dict(best.configuration), "handover", len(history.observations))


def verified(request: Mapping[str, Any], history: History) -> Document:
    """What the verdict names."""
    contest = contest_from_dict(request["verification"], history.objective, history.limits)
    decided = verdict(contest)
    assert decided is not None
    chosen = dict(contest.by_name[decided.name].configuration)
    origin = "handover" if decided.name == "best" else decided.name
    return answer(chosen, origin, len(history.observations))


def answer(configuration: Document, origin: str, observations: int, predictions: Document | None = None) -> Document:
    return {
        "configuration": configuration,
        "origin": origin,
        "predictions": predictions or {},
        "reasons": [],
        "snapshot": None,
        "observations": observations,
    }
