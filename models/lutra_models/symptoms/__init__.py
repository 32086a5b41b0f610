"""Diagnoses of measured windows, as data: symptoms, their strength, and the settings that they recommend."""

from lutra_models.symptoms.diagnosis import Diagnosis, Symptom, diagnose
from lutra_models.symptoms.offers import Cure
from lutra_models.symptoms.rows import KINDS, CureRow, Kind, SymptomRow, of_engine
from lutra_models.symptoms.span import MeasuredWindow

__all__ = [
    "KINDS",
    "Cure",
    "CureRow",
    "Diagnosis",
    "Kind",
    "MeasuredWindow",
    "Symptom",
    "SymptomRow",
    "diagnose",
    "of_engine",
]
