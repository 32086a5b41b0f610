"""Documents as JSON text. A document that is stored repeatedly is serialised once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Written:
    """A document that was serialised before; it is stored as this text."""

    text: str


def dumps(document: Any) -> str:
    """The form of values in the database's JSON columns."""
    return document.text if isinstance(document, Written) else json.dumps(document)
