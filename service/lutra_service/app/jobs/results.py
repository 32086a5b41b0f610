"""A worker's answer, checked before any of it is stored: a worker may be on another machine, and wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from lutra_models.errors import LutraError
from lutra_models.wire import Name, SettingValue
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from lutra_service.common.documents import Document

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0, le=10**9)]
MAX_FEATURES = 10_000
MAX_NODES = 100_000
"""The maximum number of nodes in all trees of a posterior's forest."""


class InvalidAnswer(LutraError):
    """A worker's answer that does not fit its question."""

    code = "invalid_answer"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Record(_Part):
    n: Count
    held: Count


class _Prediction(_Part):
    median: Finite
    low: Finite
    high: Finite
    level: Finite = Field(gt=0, lt=1)
    far: bool = Field(strict=True)
    record: _Record | None = None
    unlike: list[Name] = Field(default=[], max_length=500)
    without: list[Name] = Field(default=[], max_length=500)

    @model_validator(mode="after")
    def _holds_its_median(self) -> _Prediction:
        if not self.low <= self.median <= self.high:
            raise ValueError(f"an interval must contain its median, got {self.low}, {self.median}, {self.high}")
        return self


class _Reason(_Part):
    setting: Name
    before: SettingValue | None
    after: SettingValue
    sentence: Annotated[str, StringConstraints(max_length=2000)]
    effect: Finite | None
    against: Annotated[str, StringConstraints(max_length=2000)] = ""


class _Share(_Part):
    settings: Count
    added: list[Name] = Field(max_length=500)
    share: Finite
    low: Finite
    high: Finite


class _LookedAt(_Part):
    sentence: Annotated[str, StringConstraints(max_length=4000)]
    symptoms: Count
    shown: Count
    rules: Count
    windows: Count
    seconds: Finite
    least_gain: Finite
    predicted_gain: Finite | None
    notes: list[Annotated[str, StringConstraints(max_length=2000)]] = Field(max_length=500)


class _Predictions(_Part):
    predictions: dict[Name, _Prediction] = Field(max_length=200)


class _LeanedOn(_Part):
    place: Count
    weight: Finite = Field(ge=0, le=1)


class _Leaned(_Predictions):
    on: list[_LeanedOn] = Field(min_length=1, max_length=100)
    configuration: dict[Name, SettingValue] = Field(min_length=1, max_length=500)


class _Answer(_Predictions):
    configuration: dict[Name, SettingValue] = Field(min_length=1, max_length=500)
    origin: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,40}$")]
    reasons: list[_Reason] = Field(max_length=500)
    snapshot: Document | None
    observations: Count
    curve: list[_Share] = Field(default=[], max_length=501)
    shortened_from: dict[Name, SettingValue] | None = Field(default=None, min_length=1, max_length=500)
    must_reach: Annotated[Finite, Field(gt=0, le=1e18)] | None = None
    looked_at: _LookedAt | None = None
    leaned: _Leaned | None = None

    @property
    def names(self) -> set[str]:
        """Every setting that it speaks of."""
        added = {name for point in self.curve for name in point.added}
        without = () if self.leaned is None else self.leaned.configuration
        reasons = (r.setting for r in self.reasons)
        return {*self.configuration, *reasons, *added, *(self.shortened_from or ()), *without}


def checked(result: Document, request: Mapping[str, Any]) -> Document:
    """`result`, unchanged, if it is an answer to `request`. Raises InvalidAnswer."""
    try:
        answer = _Answer.model_validate(result)
    except ValidationError as error:
        raise _refusal(error) from error
    strange = sorted(answer.names - _names(request))
    if strange:
        raise InvalidAnswer(f"settings that were not requested: {', '.join(strange[:5])}")
    if answer.leaned is not None and max(on.place for on in answer.leaned.on) >= len(request["past"]):
        raise InvalidAnswer("it uses a past workload that was not in its input")
    if not finite(result):
        raise InvalidAnswer("the answer, or the model in it, contains numbers that are not finite")
    if answer.snapshot is not None:
        _check_model(answer.snapshot, request)
    return result


def learned(result: Document, request: Mapping[str, Any]) -> Document | None:
    """The model in a worker's answer about a past workload, None if there is nothing to learn from it. Raises
    InvalidAnswer.
    """
    model = result.get("snapshot")
    if set(result) != {"snapshot"} or not (model is None or isinstance(model, dict)) or not finite(result):
        raise InvalidAnswer("the answer contains no model of finite numbers")
    if model is not None:
        _check_model(model, request)
    return model


def check_predictions(predictions: object) -> None:
    """Raises InvalidAnswer for an answer that is not a prediction by metric."""
    try:
        _Predictions.model_validate({"predictions": predictions})
    except ValidationError as error:
        raise _refusal(error) from error


def finite(document: object) -> bool:
    waiting = [document]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, float) and not math.isfinite(part):
            return False
    return True


def _refusal(error: ValidationError) -> InvalidAnswer:
    first = error.errors(include_url=False, include_input=False)[0]
    return InvalidAnswer(f"{'.'.join(map(str, first['loc']))[:200]}: {first['msg']}")


def _names(request: Mapping[str, Any]) -> set[str]:
    history = request["history"]
    return {k["name"] for k in history["knobs"]} | set(history["current"] or ()) | set(request["baseline"])


def _check_model(model: Document, request: Mapping[str, Any]) -> None:
    """A fitted model of these settings, no larger than what was measured, that predicts numbers."""
    from lutra_models.gp.fitted.snapshot import Snapshot

    try:
        for posterior in _posteriors(model):
            _check_size(posterior, _largest(request))
        snapshot = Snapshot.from_dict(model)
        strange = sorted({k.name for k in snapshot.encoding.knobs} - _names(request))
        if strange:
            raise InvalidAnswer(f"the model is of settings that were not requested: {', '.join(strange[:5])}")
        here = {**request["baseline"], **(request["history"]["current"] or {})}
        predicted = snapshot.predict([here])[0].values()
    except InvalidAnswer:
        raise
    except Exception as error:
        raise InvalidAnswer(f"the model cannot be read: {type(error).__name__}: {error}") from error
    if not all(math.isfinite(n) for p in predicted for n in (p.median, p.low, p.high)):
        raise InvalidAnswer("the model predicts no numbers")


def _posteriors(model: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from model["posteriors"].values()
    yield from model.get("alone", {}).values()
    for trends in model["trends"].values():
        yield from (trend["gp"] for trend in trends)


def _largest(request: Mapping[str, Any]) -> int:
    """How many rows a posterior can have: one an observation, here or in a past workload."""
    past = (len(p["x"]) for model in request["past"] for p in _posteriors(model))
    return max(len(request["history"]["observations"]), *past, 1)


def _check_size(posterior: Mapping[str, Any], rows: int) -> None:
    """Reading a model takes the square of its rows in memory."""
    x, wide, covariance = posterior["x"], len(posterior["x"][0]), posterior["covariance"]
    scales, terms = len(covariance.get("lengthscales", ())), len(covariance.get("kernel", {}).get("weights", ()))
    nodes = sum(len(tree["feature"]) for tree in covariance.get("trees", ()))
    if len(x) > rows or max(wide, terms) > MAX_FEATURES or scales > wide or nodes > MAX_NODES:
        found = (
            f"{len(x)} rows of {wide}, {scales} length-scales, {terms} terms of a kernel and {nodes:,} nodes of trees"
        )
        raise InvalidAnswer(f"the model is larger than what was measured: {found}, of {rows} rows")
