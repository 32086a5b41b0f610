"""Answers of the core as plain, JSON-able documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lutra_models.advice import Basis, Prediction, Reason, Share
from lutra_models.catalog import ChangeSteps
from lutra_models.catalog.statements import Step, as_text

from lutra_service.common.documents import Document


def change_to_dict(change_steps: ChangeSteps) -> Document:
    change = change_steps.change
    return {
        "setting": change.name,
        "before": change.before,
        "after": change.after,
        "before_text": change.before_text,
        "after_text": change.after_text,
        "applies": change.applies,
        "do": as_text(change_steps.do_by_hand),
        "undo": as_text(change_steps.undo_by_hand),
        "do_steps": [_step_to_dict(s) for s in change_steps.do_by_hand],
        "undo_steps": [_step_to_dict(s) for s in change_steps.undo_by_hand],
    }


def _step_to_dict(step: Step) -> Document:
    return {"text": step.text, "file": step.file, "section": step.section}


def predictions_to_dict(predictions: Mapping[str, Prediction]) -> Document:
    return {m: _prediction_to_dict(p) for m, p in predictions.items()}


def _prediction_to_dict(prediction: Prediction) -> Document:
    return {
        "median": prediction.median,
        "low": prediction.low,
        "high": prediction.high,
        "level": prediction.level,
        "far": prediction.extrapolated,
        "record": prediction.record and asdict(prediction.record),
        "unlike": list(prediction.unseen_values),
        "without": list(prediction.unmodelled),
    }


def reason_to_dict(reason: Reason) -> dict[str, Any]:
    told = asdict(reason)
    return {"setting": told.pop("knob"), **told}


def basis_to_dict(basis: Basis) -> Document:
    return {**asdict(basis), "notes": list(basis.notes)}


def share_to_dict(point: Share) -> Document:
    return {**asdict(point), "added": list(point.added)}
