"""Prefixed ids that sort by their creation time, and secrets."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import datetime

_SECRET = re.compile(r"lutra_[A-Za-z0-9_\-]{43}")
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str, now: datetime) -> str:
    """`rec_` and 22 digits: 50 bits of milliseconds, 60 random bits."""
    return f"{prefix}_{_base32(int(now.timestamp() * 1000), 10)}{_base32(secrets.randbits(60), 12)}"


def new_secret() -> str:
    return f"lutra_{secrets.token_urlsafe(32)}"


def is_secret(text: str) -> bool:
    """Whether it has a secret's form. Nothing else is worth a look-up."""
    return _SECRET.fullmatch(text) is not None


def secret_hash(secret: str) -> str:
    """The stored digest of a secret. A secret has 256 random bits, so a plain digest cannot be reversed by guessing."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _base32(number: int, digits: int) -> str:
    return "".join(_DIGITS[(number >> (5 * i)) & 31] for i in reversed(range(digits)))
