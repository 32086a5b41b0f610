"""What a DBA would see in measured windows, as data: symptoms, their strength, the settings that they speak for."""

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
