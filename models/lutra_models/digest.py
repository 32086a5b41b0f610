"""A short name for content: equal content has an equal digest."""

from __future__ import annotations

import hashlib
import json


def fingerprint(content: object) -> str:
    """16 hex digits over the canonical JSON of `content`."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
