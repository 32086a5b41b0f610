"""Options of the recommender: one frozen value that is part of a model's identity."""

from lutra_models.gp.options.rooms import (
    DEFAULT,
    Belief,
    Calibration,
    Drifts,
    Effort,
    Live,
    Options,
    Safety,
    Search,
    Start,
    Surrogates,
    Targets,
    Transfer,
)

__all__ = [
    "DEFAULT",
    "Belief",
    "Calibration",
    "Drifts",
    "Effort",
    "Live",
    "Options",
    "Safety",
    "Search",
    "Start",
    "Surrogates",
    "Targets",
    "Transfer",
]
