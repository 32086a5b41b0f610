"""Rights that more than one part of the engine needs."""

from __future__ import annotations

from lutra_agent.engines.postgresql.server.connect import quoted


def monitor(account: str) -> str:
    """The role that lets the account see other accounts' activity, all settings and their sources."""
    return f"GRANT pg_monitor TO {quoted(account)};"
