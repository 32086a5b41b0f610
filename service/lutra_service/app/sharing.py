"""A database's policy has two parts: what may become of its settings, and with whom it shares what was learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lutra_models import serial
from lutra_models.server import Policy

SHARED = "past"


def settings_policy(document: Mapping[str, Any]) -> Policy:
    """The part that is about settings. Raises ValueError for one that is none."""
    return serial.policy_from_dict({name: part for name, part in document.items() if name != SHARED})
