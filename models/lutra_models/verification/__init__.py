"""The end of a lab session: its finalists are measured alternately, then one is handed over."""

from lutra_models.verification.contest import (
    NAMES,
    ORIGINS,
    ROUNDS,
    Contest,
    Finalist,
    FinalistName,
    contest_from_dict,
    contest_to_dict,
    over_loads,
)
from lutra_models.verification.gains import LEAST_ROUNDS, Gain
from lutra_models.verification.verdict import CALLED, Verdict, gains, gains_by_load, verdict

__all__ = [
    "CALLED",
    "LEAST_ROUNDS",
    "NAMES",
    "ORIGINS",
    "ROUNDS",
    "Contest",
    "Finalist",
    "FinalistName",
    "Gain",
    "Verdict",
    "contest_from_dict",
    "contest_to_dict",
    "gains",
    "gains_by_load",
    "over_loads",
    "verdict",
]
