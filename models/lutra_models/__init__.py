"""Lutra's core: what the agent, the service and the mathematics share. The standard library only."""

from lutra_models.advice import Prediction, Reason, Recommendation, Record
from lutra_models.errors import LutraError
from lutra_models.history import History, Observation, TuningSession, Window
from lutra_models.knobs import Choice, Configuration, Knob, KnobSpace, Number, Refusal
from lutra_models.metrics import Limit, Metric, Objective

__version__ = "0.1.0"

__all__ = [
    "Choice",
    "Configuration",
    "History",
    "Knob",
    "KnobSpace",
    "Limit",
    "LutraError",
    "Metric",
    "Number",
    "Objective",
    "Observation",
    "Prediction",
    "Reason",
    "Recommendation",
    "Record",
    "Refusal",
    "TuningSession",
    "Window",
]
