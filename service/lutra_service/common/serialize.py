"""Answers of the core as plain, JSON-able documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lutra_models.advice import Prediction, Reason
from lutra_models.catalog import Change

from lutra_service.common.documents import Document


def change_to_dict(change: Change) -> Document:
    return {
        "setting": change.name,
        "before": change.before,
        "after": change.after,
        "before_text": change.before_text,
        "after_text": change.after_text,
        "applies": change.applies,
        "do": change.do,
        "undo": change.undo,
    }


def predictions_to_dict(predictions: Mapping[str, Prediction]) -> Document:
    return {m: {k: v for k, v in asdict(p).items() if k != "metric"} for m, p in predictions.items()}


def reason_to_dict(reason: Reason) -> dict[str, Any]:
    told = asdict(reason)
    return {"setting": told.pop("knob"), **told}
