"""The limits of the agent's own file for a directive, whatever the service says."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lutra_models.guardrails import GuardName
from lutra_models.history import Mode
from lutra_models.maintenance import MaintenanceWindow, closed
from lutra_models.server import MemoryCount
from lutra_models.wire import Directive

from lutra_agent.config.types import CONFIRM_S
from lutra_agent.errors import Deferred
from lutra_agent.state.store import State

PACE = "pace"
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Pace:
    """The maximum within any hour. Undos by the agent itself are not counted and never wait."""

    changes: int = 60
    restarts: int = 6


def require_pace(pace: Pace, state: State, restart: bool, now: datetime) -> None:
    """Raises Deferred if one more change, or one more restart, would be too many."""
    made = _within_the_hour(state, now)
    restarts = [at for at, restarted in made if restarted]
    if len(made) >= pace.changes:
        raise Deferred(f"{len(made)} changes within an hour, the maximum of agent.changes_per_hour: this change waits")
    if restart and len(restarts) >= pace.restarts:
        raise Deferred(f"{len(restarts)} restarts within an hour, the maximum of restart.per_hour: this change waits")


def record_change(state: State, restart: bool, now: datetime) -> None:
    made = [*_within_the_hour(state, now), (now, restart)]
    state.save(PACE, [[at.isoformat(), restarted] for at, restarted in made])


def _within_the_hour(state: State, now: datetime) -> list[tuple[datetime, bool]]:
    kept = [(datetime.fromisoformat(at), bool(restarted)) for at, restarted in state.load(PACE) or ()]
    return [(at, restarted) for at, restarted in kept if now - HOUR < at <= now]


@dataclass(frozen=True)
class Bounds:
    """The limits of the agent's own file, and the current state.

    `windows` are the service's maintenance windows, `own_windows` those of the agent's file. `firing` are guards that
    fire, `unconfirmed` is the directive whose change is provisional. A change has `confirm_s` to be confirmed.
    `baseline`: enough was measured before it to compare with. `durability`: settings that can lose committed data may
    move. `driver`: the agent makes a lab's load itself. `by_catalogue`: a new value has to lie in the catalogue's
    range.
    """

    mode: Mode
    paused: bool
    memory_fraction: float
    windows: tuple[MaintenanceWindow, ...] = ()
    firing: tuple[GuardName, ...] = ()
    unconfirmed: str | None = None
    confirm_s: float = CONFIRM_S
    baseline: bool = True
    durability: bool = False
    driver: bool = False
    own_windows: tuple[MaintenanceWindow, ...] = ()
    by_catalogue: bool = True
    pace: Pace = field(default_factory=Pace)
    memory_count: MemoryCount = "in_use"

    def measures(self, directive: Directive) -> bool:
        """Whether it is a trial of a lab, which a driver judges."""
        return directive.measure and self.mode == "lab" and self.driver

    def closed(self, now: datetime) -> str | None:
        """The reason why nothing may be restarted at `now`, in words: the service's windows and the file's have to be
        open.
        """
        why = closed(self.own_windows, now) if self.own_windows else None
        return f"by the agent's own file {why}" if why else closed(self.windows, now)
