"""A database's policy has two parts: the allowed changes of its settings, and the databases with which it shares its
lessons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from lutra_models import serial
from lutra_models.server import Policy

Past = Literal["all", "label", "none"]
"""The databases that share models with this one: all, those of its label, or none. Those without a label share one."""
SHARED = "past"
DEFAULT_PAST: Past = "label"


def settings_policy(document: Mapping[str, Any]) -> Policy:
    """The part that is about settings. Raises ValueError for an invalid one."""
    return serial.policy_from_dict({name: part for name, part in document.items() if name != SHARED})


def past_of(document: Mapping[str, Any]) -> Past:
    past: Past = document.get(SHARED, DEFAULT_PAST)
    return past
