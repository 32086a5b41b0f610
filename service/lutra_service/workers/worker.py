"""The code inside the executor: pure functions of a stored request. The only module of the service that fits models.

It is reached by name, from `worker_process` alone, so that the API's process never loads GPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from lutra_models import extensions, gp, serial
from lutra_models.advice import Reason, Recommendation
from lutra_models.catalog import meet
from lutra_models.errors import LutraError
from lutra_models.gp.conformance import faults_of
from lutra_models.gp.documents import plugged
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.options import Options
from lutra_models.gp.playing import played
from lutra_models.gp.scoring import score_session
from lutra_models.knobs import Configuration
from lutra_models.verification import ORIGINS, contest_from_dict, verdict

from lutra_service.common.documents import Document
from lutra_service.common.serialize import basis_to_dict, predictions_to_dict, reason_to_dict, share_to_dict


def recommend(request: Mapping[str, Any]) -> Document:
    """The next configuration to try, and the model that chose it if it can predict."""
    model = _model(request)
    most, exploration = request.get("max_changes"), request.get("exploration")

    def advised(by: gp.Model) -> Recommendation:
        return by.recommend(safe=request["safe"], max_changes=most, exploration=exploration)

    return _with_past(request, model, advised, _answer(request, model, advised(model)))


def handover(request: Mapping[str, Any]) -> Document:
    """The final configuration for the database: the verification's choice, or without one the model's best."""
    model = _model(request)
    if "verification" in request:
        return _verified(request, model)
    baseline = model.history.space.normalise(request["baseline"])

    def best(by: gp.Model) -> Recommendation:
        return by.best(baseline, max_changes=request.get("max_changes"))

    return _with_past(request, model, best, _answer(request, model, best(model)))


def _verified(request: Mapping[str, Any], model: gp.Model) -> Document:
    """The finalist that the verdict names. Raises ValueError if more has to be measured."""
    history, document = model.history, request["verification"]
    contest = contest_from_dict(document, history.objective, history.limits)
    decided = verdict(contest)
    if decided is None:
        raise ValueError(f"no verdict after {contest.rounds} rounds: {contest.turn()} is measured next")
    configuration = Configuration(contest.by_name[decided.name].configuration)
    changes = (history.current or configuration).changes_to(configuration)
    why = f"part of the configuration that won the verification: {decided.sentence}"
    reasons = tuple(Reason(name, old, new, why) for name, (old, new) in changes.items())
    answer = _answer(request, model, Recommendation(configuration, ORIGINS[decided.name], reasons=reasons))
    return {**answer, **document["named"]} if decided.name == "best" else answer


def learn(request: Mapping[str, Any]) -> Document:
    """The model of a past workload by itself; none if it has too few readings."""
    model = _model(request)
    return {"snapshot": model.snapshot.to_dict() if model.predicts else None}


def predict(request: Mapping[str, Any]) -> Document:
    """The prediction of the settings that another version recommended, by a model of the same history."""
    model = _model(request)
    predictions = model.predict([request["configuration"]])[0] if model.predicts else {}
    return {"predictions": predictions_to_dict(predictions)}


def score(request: Mapping[str, Any]) -> Document:
    """The score of the options on a past session; see `gp.scoring` and `gp.playing`."""
    history, *others = (serial.history_from_dict(document) for document in (request["history"], *request["others"]))
    options = Options.from_dict(request["options"])
    told = {**score_session(history, others, options), "played": played(history, others, options)}
    return {**told, "key": request["key"], "trials": request["trials"]}


def conformance(request: Mapping[str, Any]) -> Document:
    """The results of the conformance suites, which Lutra's own parts pass, for the parts of packages."""
    found = [(one.part, one.name) for one in plugged(Options.from_dict(request["options"]))]
    told = [{"option": part.option, "name": name, "faults": faults_of(part.kind, name)} for part, name in found]
    return {"conformance": told}


def broken_parts(request: Mapping[str, Any]) -> Document:
    """The errors of the packages' parts that cannot be imported."""
    broken = []
    for one in plugged(Options.from_dict(request["options"])):
        try:
            extensions.plugged(one.part.group, one.name)
        except LutraError as error:
            broken.append(f"{one.part.option} = {one.name!r}: {error}")
    return {"broken": broken}


def warm() -> None:
    """Load the modules for which a first request would otherwise wait."""
    from lutra_models.gp import recommender  # noqa: F401
    from lutra_models.gp.search import knob_ranking  # noqa: F401
    from lutra_models.gp.transfer import signature  # noqa: F401


def _model(request: Mapping[str, Any]) -> gp.Model:
    history = serial.history_from_dict(request["history"])
    past = [Snapshot.from_dict(payload) for payload in request["past"]]
    rng = np.random.default_rng(np.random.SeedSequence(request["entropy"]))
    return gp.fit(history, past, rng=rng, options=Options.from_dict(request.get("options", {})))


def _with_past(
    request: Mapping[str, Any], model: gp.Model, asked: Callable[[gp.Model], Recommendation], answer: Document
) -> Document:
    """With the past workloads that the answer leans on, and what it would have been without any.

    `predictions` are of the answer's settings, by the model that leans on nothing.
    """
    places = len(request["past"])
    leaned = {place: weight for place, weight in model.past_weights.items() if place < places}
    if not leaned:
        return answer
    alone = _model({**request, "past": []})
    predictions = alone.predict([answer["configuration"]])[0] if alone.predicts else {}
    return {
        **answer,
        "leaned": {
            "on": [{"place": place, "weight": weight} for place, weight in leaned.items()],
            "configuration": _as_read_back(request, asked(alone).configuration),
            "predictions": predictions_to_dict(predictions),
        },
    }


def _answer(request: Mapping[str, Any], model: gp.Model, advice: Recommendation) -> Document:
    """What is predicted is predicted of the settings as they will be read back: a what-if of them answers the same."""
    configuration = _as_read_back(request, advice.configuration)
    predictions = model.predict([configuration])[0] if model.predicts else {}
    return {
        "configuration": configuration,
        "origin": advice.origin,
        "predictions": predictions_to_dict(predictions),
        "reasons": [reason_to_dict(r) for r in advice.reasons],
        "snapshot": model.snapshot.to_dict() if model.predicts else None,
        "observations": len(model.history.observations),
        "curve": [share_to_dict(point) for point in advice.curve],
        "shortened_from": advice.simplified_from and _as_read_back(request, advice.simplified_from),
        "must_reach": advice.abandon_below,
        "looked_at": None if advice.basis is None else basis_to_dict(advice.basis),
    }


def _as_read_back(request: Mapping[str, Any], configuration: Configuration) -> Document:
    """No more digits than the server prints, so that what is read back compares equal."""
    live = meet(serial.server_from_dict(request["history"]["server"]))
    return {name: live.parse(name, value) for name, value in configuration.items()}
