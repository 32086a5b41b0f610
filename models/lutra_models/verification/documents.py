"""Finalists as a JSON document, to be stored with the request that a handover is computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lutra_models.aims import Aim
from lutra_models.metrics import Limit, Objective
from lutra_models.verification.contest import Contest, Finalist


def contest_to_dict(contest: Contest) -> dict[str, Any]:
    """Without the objective and the limits, which the request's history has."""
    return {
        "budget": contest.budget,
        "finalists": [
            {
                "name": f.name,
                "configuration": dict(f.configuration),
                "readings": [dict(r) for r in f.readings],
                "failed": f.failed,
            }
            for f in contest.finalists
        ],
        **({} if contest.aim is None else {"aim": contest.aim.to_dict()}),
    }


def contest_from_dict(document: Mapping[str, Any], objective: Objective, limits: Sequence[Limit]) -> Contest:
    finalists = (Finalist(**{**f, "readings": tuple(f["readings"])}) for f in document["finalists"])
    aim = Aim.from_dict(document["aim"]) if "aim" in document else None
    return Contest(objective, tuple(limits), tuple(finalists), document["budget"], aim)
