"""What runs inside the executor: pure functions of a stored request. The only module of the service that fits models.

It is reached by name, from `worker_process` alone, so that the API's process never loads GPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from lutra_models import gp, serial
from lutra_models.catalog import load
from lutra_models.errors import NotEnoughObservations
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.history import History
from lutra_models.knobs import Configuration
from lutra_models.metrics import Objective

from lutra_service.common.documents import Document
from lutra_service.common.serialize import predictions_to_dict, reason_to_dict


def recommend(request: Mapping[str, Any]) -> Document:
    """The next configuration to try, and the snapshot that it came with where there was enough to fit."""
    history = serial.history_from_dict(request["history"])
    advice = gp.recommend(history, _past(request), rng=_rng(request), safe=request["safe"])
    snapshot = _fit(history, request)
    return {
        "configuration": _as_read_back(request, advice.configuration),
        "origin": advice.origin,
        "predictions": predictions_to_dict(advice.predictions),
        "reasons": [reason_to_dict(r) for r in advice.reasons],
        "snapshot": snapshot.to_dict() if snapshot else None,
        "observations": len(history.observations),
    }


def handover(request: Mapping[str, Any]) -> Document:
    """What to leave the database with: the best by posterior, or the baseline where nothing is better than it."""
    history = serial.history_from_dict(request["history"])
    best = gp.handover(history, _past(request), rng=_rng(request))
    snapshot = _fit(history, request)
    baseline = history.space.normalise(request["baseline"])
    predictions: Document = {}
    origin = "handover"
    if snapshot is not None:
        at_best, at_baseline = snapshot.predict([best, baseline])
        if best != baseline and not _better(history.objective, at_best, at_baseline):
            best, at_best, origin = baseline, at_baseline, "baseline"
        predictions = predictions_to_dict(at_best)
    return {
        "configuration": _as_read_back(request, best),
        "origin": origin,
        "predictions": predictions,
        "reasons": _handover_reasons(history, best, origin),
        "snapshot": snapshot.to_dict() if snapshot else None,
        "observations": len(history.observations),
    }


def warm() -> None:
    """Load what a first request would otherwise wait for."""
    from lutra_models.gp import recommender  # noqa: F401
    from lutra_models.gp.search import knob_ranking  # noqa: F401
    from lutra_models.gp.transfer import signature  # noqa: F401


def _as_read_back(request: Mapping[str, Any], configuration: Configuration) -> Document:
    """No more digits than the server prints, so that what is read back compares equal."""
    server = serial.server_from_dict(request["history"]["server"])
    catalog = load(server.engine)
    return {name: catalog.parse(server, name, value) for name, value in configuration.items()}


def _rng(request: Mapping[str, Any]) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(request["entropy"]))


def _past(request: Mapping[str, Any]) -> list[Snapshot]:
    return [Snapshot.from_dict(payload) for payload in request["past"]]


def _fit(history: History, request: Mapping[str, Any]) -> Any:
    try:
        return gp.fit(history, rng=_rng(request))
    except NotEnoughObservations:
        return None


def _better(objective: Objective, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if objective.metric not in one or objective.metric not in other:
        return False
    return objective.gain(one[objective.metric].median) > objective.gain(other[objective.metric].median)


def _handover_reasons(history: History, best: Configuration, origin: str) -> list[Document]:
    if history.current is None:
        return []
    why = (
        "part of the best configuration by posterior"
        if origin == "handover"
        else "back to where the session began: nothing that was tried is better by posterior"
    )
    changes = history.current.changes_to(best)
    return [
        {"setting": n, "before": before, "after": after, "sentence": why, "effect": None}
        for n, (before, after) in changes.items()
    ]
