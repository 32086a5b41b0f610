"""The core's values as JSON documents and back: what `recommend` saw, for a worker, a notebook or a replay. No I/O."""

from lutra_models.serial.evidence import (
    basis_from_dict,
    basis_to_dict,
    evidence_from_dict,
    evidence_to_dict,
    turned_down_from_dict,
    turned_down_to_dict,
)
from lutra_models.serial.histories import (
    FORMAT,
    history_from_dict,
    history_to_dict,
    observation_from_dict,
    observation_to_dict,
)
from lutra_models.serial.knobs import knob_from_dict, knob_to_dict
from lutra_models.serial.servers import (
    policy_from_dict,
    policy_to_dict,
    server_from_dict,
    server_to_dict,
    settings_from_dict,
    settings_to_dict,
)

__all__ = [
    "FORMAT",
    "basis_from_dict",
    "basis_to_dict",
    "evidence_from_dict",
    "evidence_to_dict",
    "history_from_dict",
    "history_to_dict",
    "knob_from_dict",
    "knob_to_dict",
    "observation_from_dict",
    "observation_to_dict",
    "policy_from_dict",
    "policy_to_dict",
    "server_from_dict",
    "server_to_dict",
    "settings_from_dict",
    "settings_to_dict",
    "turned_down_from_dict",
    "turned_down_to_dict",
]
