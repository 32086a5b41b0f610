"""The knowledge about a live database before any trial, and the declined changes.

Findings come from symptoms and rules, each with the settings that it recommends. A declined or undone change is not
proposed again until one of its circumstances has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from lutra_models.knobs import Value

Ground = Literal["outage", "danger", "fault", "elsewhere", "enough", "note", "rule", "outlying"]
"""A symptom of one of the catalogue's kinds, a rule for this hardware, or a value far outside the useful range of the
host.
"""
URGENT: tuple[Ground, ...] = ("outage", "danger")
"""The grounds that come before all those that only cost time, in this order."""
CURABLE: tuple[Ground, ...] = ("outage", "danger", "fault")
"""The grounds that a setting may cure."""
OF_THE_HOST: tuple[Ground, ...] = ("rule", "outlying")
"""The grounds that do not depend on the load."""
_ORDER: tuple[tuple[Ground, ...], ...] = (
    ("outage",),
    ("danger",),
    ("fault", "elsewhere", "outlying"),
    ("rule",),
    ("enough", "note"),
)
"""The order in which people read the grounds."""
Way = Literal["raise", "lower", "set"]
How = Literal["rejected", "left_out", "rolled_back", "reverted", "refused", "failed"]
"""Declined by a person: as a whole, by approving only the rest, or once it was active. Or declined by a guard, by the
agent, which did not begin, or by the server, which did not accept it.
"""
Verdict = Literal["better", "worse", "no_difference_seen", "not_enough_at_like_load"]
"""The comparison of later windows with earlier ones at comparable load."""
STRENGTH_CHANGED = 0.2
"""Strengths of a symptom that differ by more than this are different states of the database."""
HARDWARE_CHANGED = 0.1
"""The relative difference in memory and cores that counts as none: a container's limits are read with a little noise.
"""


@dataclass(frozen=True)
class Move:
    """A change of one setting that a finding recommends, in the server's own unit.

    `after` is None if no value can be offered; `obstacle` gives the reason, or the reason why the offer is less than
    the finding recommends. `restart` says that the change needs one. `sentence` is the reason and `against` the
    argument against it, empty if there is none.
    """

    setting: str
    before: Value
    after: Value | None
    sentence: str
    restart: bool = False
    against: str = ""
    obstacle: str | None = None

    @property
    def way(self) -> Way | None:
        return None if self.after is None else way(self.before, self.after)


@dataclass(frozen=True)
class Finding:
    """A finding with a `strength` above 0 and at most 1, and the moves that belong together.

    `name` is the symptom's, or for a rule its setting's. `settings` are all its settings. `gain` is the share by which
    p99 is expected to fall if it is right; the probability of that is the strength. `statements` are for a person, if
    no move is offered.
    """

    name: str
    ground: Ground
    strength: float
    sentence: str
    settings: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    gain: float = 1.0
    statements: tuple[str, ...] = ()

    @property
    def worth(self) -> float:
        """The expected gain times its probability, by which findings are ordered."""
        return self.gain * self.strength

    def __post_init__(self) -> None:
        if not 0 < self.strength <= 1:
            raise ValueError(f"{self.name}: a strength is above 0 and at most 1, got {self.strength}")


@dataclass(frozen=True)
class Basis:
    """The circumstances of a decision about settings: version, hardware, and the strength of the findings that
    recommended them.
    """

    version: str
    memory_bytes: int
    cores: float
    strengths: Mapping[str, float] = field(default_factory=dict)

    def changed(self, now: Basis) -> bool:
        """Whether something of it is different `now`, including a fault that appeared or became much stronger.

        A fault that disappeared or weakened is not a reason to ask again.
        """
        stronger = (s > self.strengths.get(n, 0.0) + STRENGTH_CHANGED for n, s in now.strengths.items())
        return (
            self.version != now.version
            or _apart(self.memory_bytes, now.memory_bytes)
            or _apart(self.cores, now.cores)
            or any(stronger)
        )


@dataclass(frozen=True)
class Change:
    """One setting of a change: its value before, and the applied or proposed value."""

    setting: str
    before: Value
    after: Value


@dataclass(frozen=True)
class Compared:
    """The effect of `changes`, which are active, at comparable load: the settings since then against those before.

    `ratio` is the objective's metric after them over before, None if too few windows are at comparable load.
    """

    changes: tuple[Change, ...]
    verdict: Verdict
    sentence: str
    ratio: float | None = None

    def former(self, now: Mapping[str, Value]) -> dict[str, Value] | None:
        """The settings from before; None if `now` does not have all of them as they were left."""
        if not self.changes or any(now.get(c.setting) != c.after for c in self.changes):
            return None
        return {c.setting: c.before for c in self.changes}


@dataclass(frozen=True)
class Evidence:
    """The examined evidence, and its result: `findings`, the most valuable first.

    `evaluated` symptoms had all their inputs, over this number of windows and seconds; `rules` settings were compared
    with the rule for this hardware. `deliberate` are settings that somebody set: their values differ from the default.
    `compared` are the effects of active changes, the latest one first and then all of a session together. `unread` says
    in words why the session's objective has no readings, empty if it has.
    """

    version: str
    memory_bytes: int
    cores: float
    findings: tuple[Finding, ...] = ()
    evaluated: int = 0
    rules: int = 0
    windows: int = 0
    seconds: float = 0.0
    deliberate: tuple[str, ...] = ()
    compared: tuple[Compared, ...] = ()
    unread: str = ""

    def basis(self, settings: Iterable[str]) -> Basis:
        """The circumstances of a decision about these settings: faults, version and hardware."""
        asked = set(settings)
        strengths = {f.name: f.strength for f in self.findings if f.ground in CURABLE and asked & set(f.settings)}
        return Basis(self.version, self.memory_bytes, self.cores, strengths)


@dataclass(frozen=True)
class TurnedDown:
    """Changes that were declined together at a time, in UTC, with the reason that was given (it may be empty).

    The faults of `basis` are those under the settings before the change: what was active may have cured them.
    """

    changes: tuple[Change, ...]
    how: How
    at: datetime
    basis: Basis
    reason: str = ""

    def forbids(self, setting: str, before: Value, after: Value) -> bool:
        """Whether this change is one of them again: the same setting in the same direction, or to the same value."""
        return any(
            c.setting == setting and (after == c.after or (way(c.before, c.after) == way(before, after) != "set"))
            for c in self.changes
        )


def objection(
    turned_down: Iterable[TurnedDown], evidence: Evidence | None, setting: str, before: Value, after: Value
) -> TurnedDown | None:
    """The newest declined change that forbids one setting's change, because its circumstances are unchanged; None if
    there is none.

    Without evidence, nothing counts as changed.
    """
    found = [t for t in turned_down if t.forbids(setting, before, after) and not _changed(t, evidence, setting)]
    return max(found, key=lambda t: t.at, default=None)


def undone(
    turned_down: Iterable[TurnedDown],
    evidence: Evidence | None,
    current: Mapping[str, Value],
    reached: Mapping[str, Value],
) -> TurnedDown | None:
    """The newest change that a guard undid and that `reached` would make again as a whole; None if there is none.

    Only a different version or different hardware allows it again: the guard saw the effect of this change here.
    """

    def again(one: TurnedDown) -> bool:
        at = {c.setting: (c.before, reached.get(c.setting, c.before)) for c in one.changes}
        whole = all(after != before and one.forbids(n, before, after) for n, (before, after) in at.items())
        return whole and any(current.get(n) != after for n, (_, after) in at.items())

    found = [t for t in turned_down if t.how == "reverted" and again(t) and not _changed(t, evidence, None)]
    return max(found, key=lambda t: t.at, default=None)


def _changed(turned_down: TurnedDown, evidence: Evidence | None, setting: str | None) -> bool:
    """Whether what it depended on has: where a `setting` is asked for by itself, also the faults that speak for it."""
    if evidence is None:
        return False
    return turned_down.basis.changed(evidence.basis(() if setting is None else [setting]))


def harm(ground: Ground) -> int:
    """The rank of a ground in the order in which people read them: 0 for an outage."""
    return next(place for place, grounds in enumerate(_ORDER) if ground in grounds)


def way(before: Value, after: Value) -> Way:
    """The direction in which a setting moves. A change to or from a word or a special value is *set*."""
    if isinstance(before, str) or isinstance(after, str) or before < 0 or after < 0:
        return "set"
    return "raise" if after > before else "lower"


def _apart(one: float, two: float) -> bool:
    return abs(one - two) > HARDWARE_CHANGED * max(abs(one), abs(two))
