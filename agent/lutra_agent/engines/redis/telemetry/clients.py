"""Totals over the list of clients: those that monitor, are idle, have waiting answers, or are blocked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.redis.telemetry.collectors import number

MOST = 1000
"""The server makes the list while all clients wait, so it is not requested with more clients than this."""
IDLE_S = 60.0
WAITING = frozenset(
    (
        *("blpop", "brpop", "brpoplpush", "blmove", "blmpop", "bzpopmin", "bzpopmax", "bzmpop"),
        *("xread", "xreadgroup", "wait", "waitaof"),
    )
)
"""Blocking commands. Commands of modules, with a dot in their names, may block as well."""
TAKEN, OUTPUT = "tot-net-out", ("omem", "obl", "oll")
"""The bytes that a client has been sent in all, and the output that waits for it: each more than 0 if any does."""
BLOCKED, MONITOR, REPLICA, SUBSCRIBED, PRIMARY = "bOSPM"


def read(text: str) -> Reading:
    """The totals of an answer to CLIENT LIST. Lines of another form are ignored."""
    found = dict.fromkeys(("listed", "idle", "monitors", "paused", "in_transaction"), 0.0)
    largest = dict.fromkeys(("largest_answer_bytes", "largest_subscriber_bytes", "largest_replica_bytes"), 0.0)
    for client in _clients(text):
        flags, waits = client.get("flags", ""), number(client.get("omem")) or 0.0
        idles = (number(client.get("idle")) or 0.0) >= IDLE_S
        if MONITOR in flags:
            found["monitors"] += 1
        elif REPLICA in flags or PRIMARY in flags:
            largest["largest_replica_bytes"] = max(largest["largest_replica_bytes"], waits)
        elif SUBSCRIBED in flags:
            largest["largest_subscriber_bytes"] = max(largest["largest_subscriber_bytes"], waits)
        else:
            found["listed"] += 1
            largest["largest_answer_bytes"] = max(largest["largest_answer_bytes"], waits)
            found["paused"] += BLOCKED in flags and not _waits_by_nature(client.get("cmd", ""))
            found["idle"] += idles and BLOCKED not in flags
            found["in_transaction"] += idles and number(client.get("multi")) is not None
    return Reading(gauges={**found, **largest})


@dataclass(frozen=True)
class Unread:
    """A subscriber for which output waits: the bytes that it had taken, and the time since which it has taken
    no more.
    """

    taken: float
    since_s: float


def unread(text: str, before: Mapping[str, Unread], monotonic_s: float) -> dict[str, Unread] | None:
    """By the subscriber's id. None if the version does not report a client's output."""
    if f" {TAKEN}=" not in text:
        return None
    found = {}
    for client in _clients(text):
        taken, waits = number(client.get(TAKEN)), any(number(client.get(name)) for name in OUTPUT)
        if SUBSCRIBED in client["flags"] and taken is not None and waits:
            now, known = Unread(taken, monotonic_s), before.get(client.get("id", ""))
            found[client.get("id", "")] = known if known is not None and known.taken == taken else now
    return found


def stuck(waiting: Mapping[str, Unread], monotonic_s: float) -> dict[str, float]:
    """The number of subscribers that take nothing, the time for which the first of them has taken nothing, and
    its id.
    """
    found = {name: monotonic_s - one.since_s for name, one in waiting.items() if one.since_s < monotonic_s}
    first = max(found, key=lambda name: found[name], default="")
    id_ = number(first)
    texts = {} if id_ is None else {"stuck_subscriber": id_}
    return {"stuck_subscribers": float(len(found)), "stuck_s": found.get(first, 0.0), **texts}


def _waits_by_nature(command: str) -> bool:
    name = command.partition("|")[0].lower()
    return name in WAITING or "." in name or name in ("", "null")


def _clients(text: str) -> Iterator[dict[str, str]]:
    for line in text.splitlines():
        client = dict(part.partition("=")[::2] for part in line.split(" "))
        if "flags" in client:
            yield client
