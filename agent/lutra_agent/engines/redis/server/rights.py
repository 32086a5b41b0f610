"""The rights that the agent's account needs, and the command that gives them."""

from __future__ import annotations

from lutra_models.catalog.rows import version_of

from lutra_agent.engines.redis.server.connect import DEFAULT_USER, NotPermitted
from lutra_agent.engines.redis.server.section import PROBE_KEYS
from lutra_agent.engines.redis.server.session import Session
from lutra_agent.errors import CollectionFailed

WATCHES = ("ping", "info", "config|get", "slowlog|get", "client|list", "cluster|info")
HISTOGRAM = ("latency|histogram",)
CHANGES = ("config|set",)
PROBES = ("get", "set")
NO_SETTING = "lutra-asks-whether-it-may"
"""The server has no such setting, so nothing is changed; it says so, or refuses the query."""
SINCE_HISTOGRAM = 7


def missing(session: Session) -> str:
    """The command that gives the account its rights, if it lacks some; empty if it has all."""
    asked = [("CONFIG", "GET", "maxmemory"), ("CONFIG", "SET", NO_SETTING, "0")]
    return "" if all(_may(session, *words) for words in asked) else grant(session)


def grant(session: Session, user: str = "", password: str = "") -> str:
    """The statement that grants the account exactly the rights that this agent needs.

    `user` is another account than the session's, and `password` a rule that gives it one.
    """
    has_histogram = version_of(session.details().version)[0] >= SINCE_HISTOGRAM
    commands = (*WATCHES, *(HISTOGRAM if has_histogram else ()), *CHANGES)
    keys: tuple[str, ...] = ()
    if session.database.probe_per_s:
        commands, keys = (*commands, *PROBES), (f"~{PROBE_KEYS}",)
    user = user or session.database.user or DEFAULT_USER
    given = ("on", *filter(None, (password,)), "-@all resetkeys")
    return " ".join(("ACL SETUSER", user, *given, *keys, *(f"+{c}" for c in commands)))


def _may(session: Session, *words: str) -> bool:
    try:
        session.connection.ask(*words)
    except NotPermitted:
        return False
    except CollectionFailed:
        return True
    return True
