"""Reads a server's settings over a connection of its own after every cycle of the agent, and says what is forbidden.

What the agent reported meanwhile explains what is active; what nothing explains is a fault as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lutra_agent.config.types import Config
from lutra_agent.engines.families import family
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable
from lutra_agent.metrics.host import HostProbe
from lutra_models.catalog import LiveSettings, meet
from lutra_models.knobs import Value
from lutra_models.maintenance import MaintenanceWindow, current
from lutra_models.server import Server

GRACE = timedelta(seconds=180)
"""Between the deadline of a provisional change and the end of its undo; a restart may be part of that."""

SIZED_BY = ("table_open_cache", "max_connections")
FOLLOWS = {
    "innodb_log_file_buffering": ("innodb_log_file_size",),
    "innodb_open_files": SIZED_BY,
    "table_open_cache_instances": SIZED_BY,
    "open_files_limit": SIZED_BY,
}
"""Settings that a server sets by itself as others change, seen on a real MariaDB 10.11. Where the new log file's file
system takes no unbuffered writes (one in memory), SET GLOBAL innodb_log_file_size alone moves the first. A start sizes
the others: with table_open_cache = 795 it makes innodb_open_files 795, 8 instances and open_files_limit 12904."""

Outcome = Mapping[str, Any]


@dataclass(frozen=True)
class Moment:
    """One look: what differs from the beginning, and which start of the server it was."""

    at: datetime
    different: Mapping[str, Value]
    started: str


@dataclass
class Oracle:
    config: Config
    moments: list[Moment] = field(default_factory=list)
    stories: list[str] = field(default_factory=list)
    away: int = 0

    def __post_init__(self) -> None:
        self._engine = family(self.config.database.engine).open(self.config.database)
        self._probe = HostProbe(programs=self._engine.health.programs)
        self.first = self.look()
        live = meet(self.first)
        self.initial = live.values
        self._lossy = frozenset(n for n, row in live.rows.items() if row.risk == "durability")
        limit = int(self.first.host.memory_bytes * self.config.agent.memory_fraction)
        self.most_bytes = max(limit, live.worst_case({}).total_bytes)
        self._started = self._engine.health.started()

    def look(self) -> Server:
        facts = self._probe.facts(self._engine.health.place().process, self.config.restart.data_dir)
        return self._engine.server(facts)

    def check(self, at: datetime) -> Moment | None:
        """None while the server is away: then nothing is active."""
        try:
            live, started = meet(self.look()), self._engine.health.started()
        except (DatabaseUnavailable, CollectionFailed):
            self.away += 1
            return None
        different = {n: v for n, v in live.values.items() if v != self.initial.get(n)}
        moment = Moment(at, different, started)
        for story in self._forbidden(live, moment):
            self.stories.append(f"{at:%H:%M:%S} {story}")
        self.moments.append(moment)
        return moment

    def close(self) -> None:
        self._engine.health.close()

    def _forbidden(self, live: LiveSettings, moment: Moment) -> Iterator[str]:
        mode, different = self.config.agent.mode, moment.different
        total = live.worst_case({}).total_bytes
        if total > self.most_bytes:
            sums = f"{total / 2**20:,.0f} MB, the limit is {self.most_bytes / 2**20:,.0f} MB"
            yield f"the memory sum is {sums}: {dict(different)}"
        if lossy := sorted(self._lossy & set(different)):
            yield f"durability moved: {', '.join(f'{n} = {different[n]}' for n in lossy)}"
        if mode == "observe" and different:
            yield f"mode observe, and changed: {dict(different)}"
        if mode in ("observe", "reload_only") and moment.started != self._started:
            yield f"mode {mode}, and the server was restarted"
            self._started = moment.started


def unexplained(moments: Sequence[Moment], outcomes: Sequence[Outcome], settings: Mapping[str, Any]) -> Iterator[str]:
    """Values that differ from the beginning with no change reported that was then applied and not taken back."""
    applied = [o for o in outcomes if o["state"] == "applied"]
    seen: set[tuple[str, Value]] = set()
    for moment in moments:
        for name, value in moment.different.items():
            causes = {name, *FOLLOWS.get(name, ())}
            if (name, value) in seen or any(causes & _names(o, settings) for o in applied):
                continue
            seen.add((name, value))
            yield f"{moment.at:%H:%M:%S} {name} = {value}, and no report says that a change of it was applied"


def _names(outcome: Outcome, settings: Mapping[str, Any]) -> set[str]:
    return set(outcome.get("active", ())) | set(settings.get(outcome["directive"], ()))


def late(config: Config, outcomes: Sequence[Outcome], known: Mapping[str, set[Any]], ended: datetime) -> Iterator[str]:
    """Provisional changes without an end in time, and changes to new values that were never provisional."""
    ends: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome["state"] in ("confirmed", "reverted"):
            ends.setdefault(outcome["directive"], []).append(outcome)
    applied = sorted((o for o in outcomes if o["state"] == "applied"), key=_at)
    for number, outcome in enumerate(applied):
        yield from _late(config, outcome, ends.get(outcome["directive"], []), applied[number + 1 :], known, ended)


def _late(
    config: Config,
    outcome: Outcome,
    ends: list[Outcome],
    later: list[Outcome],
    known: Mapping[str, set[Any]],
    ended: datetime,
) -> Iterator[str]:
    which = f"{outcome['directive']} of {_at(outcome):%H:%M:%S}"
    if outcome.get("confirm_by") is None:
        if new := _new(outcome, known):
            yield f"{which} is active without having to be confirmed, and the agent never had {new} before"
        return
    confirm_by = datetime.fromisoformat(outcome["confirm_by"])
    if confirm_by > _at(outcome) + timedelta(seconds=config.guard.confirm_s) + GRACE:
        yield f"{which} may wait for its confirmation until {confirm_by:%H:%M:%S}"
    closed = [*map(_at, ends), *(_at(o) for o in later if o.get("confirm_by") is None)]
    if not any(at <= confirm_by + GRACE for at in closed) and ended > confirm_by + GRACE:
        yield f"{which} was neither confirmed nor taken back by {confirm_by:%H:%M:%S}"


def restarts_outside(
    outcomes: Sequence[Outcome], known: Mapping[str, set[Any]], windows: tuple[MaintenanceWindow, ...]
) -> Iterator[str]:
    """Restarts by a directive to new values while no maintenance window was open.

    An undo waits for none, nor does a rollback: unconfirmed, to values that the agent had before.
    """
    for outcome in outcomes:
        if outcome["state"] != "applied" or not outcome.get("restarted"):
            continue
        if outcome.get("confirm_by") is None and not _new(outcome, known):
            continue
        at = _at(outcome)
        if current(windows, at) is None and current(windows, at - GRACE) is None:
            yield f"{outcome['directive']} restarted the server at {at:%H:%M:%S}, outside every maintenance window"


def _new(outcome: Outcome, known: Mapping[str, set[Any]]) -> Outcome:
    return {n: v for n, v in outcome.get("active", {}).items() if v not in known.get(n, ())}


def _at(outcome: Outcome) -> datetime:
    return datetime.fromisoformat(outcome["at"])
