"""The rate at which directives may change and restart the server: no service can keep it busy with changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lutra_agent.errors import Deferred
from lutra_agent.state.store import State

PACE = "pace"
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Pace:
    """The maximum within any hour. Undos by the agent itself are not counted and never wait."""

    changes: int = 60
    restarts: int = 6


def require(pace: Pace, state: State, restart: bool, now: datetime) -> None:
    """Raises Deferred if one more change, or one more restart, would be too many."""
    made = _within_the_hour(state, now)
    restarts = [at for at, restarted in made if restarted]
    if len(made) >= pace.changes:
        raise Deferred(f"{len(made)} changes within an hour, the maximum of agent.changes_per_hour: this change waits")
    if restart and len(restarts) >= pace.restarts:
        raise Deferred(f"{len(restarts)} restarts within an hour, the maximum of restart.per_hour: this change waits")


def record(state: State, restart: bool, now: datetime) -> None:
    made = [*_within_the_hour(state, now), (now, restart)]
    state.save(PACE, [[at.isoformat(), restarted] for at, restarted in made])


def _within_the_hour(state: State, now: datetime) -> list[tuple[datetime, bool]]:
    kept = [(datetime.fromisoformat(at), bool(restarted)) for at, restarted in state.load(PACE) or ()]
    return [(at, restarted) for at, restarted in kept if now - HOUR < at <= now]
