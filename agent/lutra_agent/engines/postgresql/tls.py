"""libpq's words for an encrypted connection; apart from what dials, so that a load generator may ask for them too."""

from __future__ import annotations

from pathlib import Path

MODES = {"identity": "verify-full", "ca": "verify-ca"}


def tls(authority: Path | None, verify: str) -> dict[str, str]:
    """Without an authority libpq's own means apply. On a socket it uses no TLS."""
    return {} if authority is None else {"sslmode": MODES[verify], "sslrootcert": str(authority)}
