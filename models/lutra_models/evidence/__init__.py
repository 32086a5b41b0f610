"""What is known of a live database before anything is tried: evidence, and what its operator turned down."""

from lutra_models.evidence.findings import Basis, Evidence, Finding, Ground, Move, Way, way
from lutra_models.evidence.turned_down import Change, How, TurnedDown, objection

__all__ = [
    "Basis",
    "Change",
    "Evidence",
    "Finding",
    "Ground",
    "How",
    "Move",
    "TurnedDown",
    "Way",
    "objection",
    "way",
]
