"""libpq's parameters for trust; separate from the code that connects, so that a load generator can use them too."""

from __future__ import annotations

from lutra_agent.engines.common.database import Database

CHALLENGE = {"require_auth": "!password"}
"""A program that listens on the port may ask for a password in clear text. From libpq 16 on; an older one refuses the
parameter.
"""
MODES = {"identity": "verify-full", "ca": "verify-ca"}


def tls(database: Database) -> dict[str, str]:
    """Without an authority libpq's own means apply, and no program behind a port gets the password itself."""
    if database.tls_ca is not None:
        return {"sslmode": MODES[database.tls_verify], "sslrootcert": str(database.tls_ca)}
    return {} if database.proved else CHALLENGE
