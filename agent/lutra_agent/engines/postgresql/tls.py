"""libpq's words for whom to trust; apart from what dials, so that a load generator may ask for them too."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

CHALLENGE = {"require_auth": "!password"}
"""Whoever listens on the port may ask for a password in clear. From libpq 16 on; an older one refuses the word."""
MODES = {"identity": "verify-full", "ca": "verify-ca"}


class Place(Protocol):
    @property
    def tls_ca(self) -> Path | None: ...
    @property
    def tls_verify(self) -> str: ...
    @property
    def proved(self) -> bool: ...


def tls(place: Place) -> dict[str, str]:
    """Without an authority libpq's own means apply, and nobody behind a port gets the password itself."""
    if place.tls_ca is not None:
        return {"sslmode": MODES[place.tls_verify], "sslrootcert": str(place.tls_ca)}
    return {} if place.proved else CHALLENGE
