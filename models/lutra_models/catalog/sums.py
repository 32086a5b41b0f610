"""The memory of a configuration, term by term, and the rules that refuse one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lutra_models.catalog.formula import Formula
from lutra_models.catalog.reported import ReportedSettings
from lutra_models.catalog.rows import Coupling, TermRow
from lutra_models.catalog.values import Overlay
from lutra_models.errors import MemoryBudgetExceeded
from lutra_models.knobs import Configuration, Knob, Number, Refusal, Value
from lutra_models.server import MemoryCount, Policy, Server

LEAST_FOR_DEFAULTS = 2**29
"""The assumption that servers' own defaults are made for hosts with at least this much memory for them; MySQL's manual
says so about its own ("Configuring InnoDB", 512 MB of RAM).
"""
CONNECTIONS = "connections_in_use"
"""The name of the connections that a sum counts, among the catalogue's derived names."""
MATERIAL = 0.01
"""A setting that can change the sum only by a smaller share of the limit does not count as a lever."""


@dataclass(frozen=True)
class MemoryTerm:
    """One line of the sum: `formula` as the catalogue has it, valid under `assumption`.

    `worst_case_bytes` is the same line with everything full at once.
    """

    name: str
    bytes: int
    formula: str
    assumption: str
    worst_case_bytes: int


@dataclass(frozen=True)
class Connections:
    """The number of connections that a sum counts, the most seen at once (0: unknown), and the most that may be open.

    `counted` and `most` are None if the catalogue counts none.
    """

    counted: int | None
    seen: int
    most: int | None


@dataclass(frozen=True)
class MemorySum:
    """The lines of one configuration as `count` has them."""

    terms: tuple[MemoryTerm, ...]
    total_bytes: int
    worst_case_bytes: int
    count: MemoryCount
    connections: Connections


@dataclass(frozen=True)
class Lines:
    """The formulas of a sum, and the names that they read beside settings and facts."""

    names: tuple[str, ...]
    formulas: tuple[Formula, ...]
    derived: Mapping[str, Formula]
    overlay: Overlay

    def of(self, candidate: Mapping[str, Value]) -> tuple[int, ...]:
        """The bytes of each line with `candidate` merged into the current settings."""
        return self.within(self.overlay.scope(candidate))

    def within(self, scope: Mapping[str, float | str]) -> tuple[int, ...]:
        """The bytes of each line for the values of these names."""
        known = {**scope, **{name: formula.number(scope) for name, formula in self.derived.items()}}
        return tuple(int(f.number(known)) for f in self.formulas)


@dataclass(frozen=True)
class Room:
    """The memory that others on the host leave to the server's settings, and the reason in words."""

    bytes: int
    why: str


@dataclass(frozen=True)
class MemoryRule:
    """`rule(configuration)`: refuses a sum above `limit_bytes`, unless no line of it is above that of a known one.

    `known` are the lines of configurations that the server ran under: the current one first, and what a session began
    with. Its own `defaults` are known to run, too. A configuration that needs at most as much as one of them in every
    line is as safe as that one, even if its sum is above the limit. Since then others may have taken the memory. Above
    the `room`, two kinds pass: a configuration that needs at most as much as the current one in every line, and a
    return to one under which the server ran. `least` are the values of settings that need the least memory: moving them
    there together leads to configurations that the rule lets pass.
    """

    lines: Lines
    limit_bytes: int
    known: tuple[tuple[int, ...], ...] = ()
    least: Mapping[str, Value] = field(default_factory=dict)
    room: Room | None = None
    defaults: tuple[int, ...] | None = None

    @property
    def names(self) -> frozenset[str]:
        """The settings that the sum reads."""
        return frozenset(self.lines.overlay.factors)

    def total(self, candidate: Mapping[str, Value]) -> int:
        return sum(self.lines.of(candidate))

    def allows(self, candidate: Mapping[str, Value]) -> bool:
        return self._passes(self.lines.of(candidate))

    def __call__(self, candidate: Configuration) -> Refusal | None:
        found = self.lines.of(candidate)
        return None if self._passes(found) else self._refusal(found)

    def _passes(self, found: tuple[int, ...]) -> bool:
        safe = self.known if self.defaults is None else (*self.known, self.defaults)
        fits = sum(found) <= self.limit_bytes or any(_within(found, lines) for lines in safe)
        return fits and self._in_room(found)

    def _in_room(self, found: tuple[int, ...]) -> bool:
        if self.room is None or sum(found) <= self.room.bytes or found in self.known:
            return True
        return bool(self.known) and _within(found, self.known[0])

    def _refusal(self, found: tuple[int, ...]) -> Refusal:
        largest = max(range(len(found)), key=found.__getitem__)
        limit, what, more = self.limit_bytes, f"the limit of {_mb(self.limit_bytes)}", ""
        if self.room is not None and not self._in_room(found):
            limit, what, more = self.room.bytes, self.room.why, ", or give this host more memory or fewer programs"
        told = (
            f"the memory of {_mb(sum(found))} is above {what}; the largest part is "
            f"{self.lines.names[largest]}, {_mb(found[largest])}: lower its settings "
            f"({self.lines.formulas[largest]}){more}"
        )
        if self.known and sum(self.known[0]) > limit:
            grown = max(range(len(found)), key=lambda i: found[i] - self.known[0][i])
            told += (
                f". The {_mb(sum(self.known[0]))} of the current settings are also above it, so no part may "
                f"grow: {self.lines.names[grown]} would, {_mb(found[grown])} instead of "
                f"{_mb(self.known[0][grown])}"
            )
        return Refusal(MemoryBudgetExceeded.code, told)


@dataclass(frozen=True)
class CouplingRule:
    """`rule(configuration)`: the first relation between settings that it breaks."""

    couplings: tuple[Coupling, ...]
    overlay: Overlay

    def __call__(self, candidate: Configuration) -> Refusal | None:
        broken = self.broken(candidate)
        if broken is None:
            return None
        names = sorted(broken.holds.names & set(self.overlay.factors))
        values = ", ".join(f"{n} = {candidate.get(n, self.overlay.base.get(n))}" for n in names)
        return Refusal("coupling", f"{broken.message} ({values})")

    def broken(self, candidate: Mapping[str, Value]) -> Coupling | None:
        scope = self.overlay.scope(candidate)
        return next((c for c in self.couplings if not c.holds(scope)), None)


def memory(reported: ReportedSettings, configuration: Mapping[str, Value], count: MemoryCount) -> MemorySum:
    """The sum with `configuration` merged into the server's current settings."""
    counted, worst = _lines(reported, count), _lines(reported, "worst_case")
    found, full = counted.of(configuration), worst.of(configuration)
    assumed = [t.counted(count)[1] for t in _terms(reported)]
    parts = zip(counted.names, found, counted.formulas, assumed, full, strict=True)
    made = tuple(MemoryTerm(name, size, f.text, why, most) for name, size, f, why, most in parts)
    return MemorySum(made, sum(found), sum(full), count, _connections(reported, counted, configuration, count))


def memory_limit(reported: ReportedSettings, policy: Policy) -> int:
    """The limit in bytes: the policy's share of the memory, or less if other programs leave less."""
    share, room = _share(reported.server, policy), _room(reported, _lines(reported, policy.memory_count))
    return share if room is None else min(share, room.bytes)


def _share(server: Server, policy: Policy) -> int:
    return int(server.host.memory_bytes * policy.memory_fraction)


def _room(reported: ReportedSettings, lines: Lines) -> Room | None:
    """None if nobody knows what others hold.

    What the server holds beyond the sum of its current settings, no setting explains: it will hold that with any.
    """
    host = reported.server.host
    if host.others_bytes is None:
        return None
    unexplained = max(0, (host.resident_bytes or 0) - sum(lines.of({})))
    left = max(0, host.memory_bytes - host.others_bytes - host.margin_bytes - unexplained)
    why = (
        f"the {_mb(left)} that other programs leave: of the {_mb(host.memory_bytes)} on this host they use up to "
        f"{_mb(host.others_bytes)}, and {_mb(host.margin_bytes)} have to stay free"
    )
    if unexplained:
        why += f"; the server itself uses {_mb(unexplained)} more than its settings explain"
    return Room(left, why)


def memory_rule(reported: ReportedSettings, policy: Policy, known: Iterable[Mapping[str, Value]] = ()) -> MemoryRule:
    """`known` are further configurations that the server ran under, in addition to the current one."""
    lines = _lines(reported, policy.memory_count)
    limit = _share(reported.server, policy)
    ran = dict.fromkeys((lines.of({}), *(lines.of(c) for c in known)))
    made_for_it = policy.memory_count == "in_use" and limit >= LEAST_FOR_DEFAULTS
    defaults = lines.within(reported.defaults) if made_for_it else None
    return MemoryRule(lines, limit, tuple(ran), room=_room(reported, lines), defaults=defaults)


def with_least(rule: MemoryRule, knobs: Iterable[Knob]) -> MemoryRule:
    """The rule with the end of each number's range that needs less memory, if the difference is material."""
    numbers = [(k.name, k.domain) for k in knobs if isinstance(k.domain, Number) and k.name in rule.names]
    least: dict[str, Value] = {}
    for name, domain in numbers:
        low, high = (rule.total({name: end}) for end in (domain.low, domain.high))
        if abs(high - low) >= MATERIAL * rule.limit_bytes:
            least[name] = domain.low if low < high else domain.high
    return replace(rule, least=least)


def _within(found: tuple[int, ...], known: tuple[int, ...]) -> bool:
    return all(one <= other for one, other in zip(found, known, strict=True))


def _terms(reported: ReportedSettings) -> tuple[TermRow, ...]:
    return tuple(t for c in reported.catalogs for t in c.terms)


def _lines(reported: ReportedSettings, count: MemoryCount) -> Lines:
    terms = _terms(reported)
    formulas = tuple(t.counted(count)[0] for t in terms)
    derived = {name: f for c in reported.catalogs for name, f in c.derived.items()}
    read = {n for f in (*formulas, *derived.values()) for n in f.names}
    return Lines(tuple(t.name for t in terms), formulas, derived, reported.overlay.only(frozenset(read)))


def _connections(
    reported: ReportedSettings, lines: Lines, configuration: Mapping[str, Value], count: MemoryCount
) -> Connections:
    seen, formula = reported.server.peak_connections, lines.derived.get(CONNECTIONS)
    if formula is None:
        return Connections(None, seen, None)
    scope = lines.overlay.scope(configuration)
    most = int(formula.number({**scope, "peak_connections": 0.0}))
    return Connections(int(formula.number(scope)) if count == "in_use" else most, seen, most)


def coupling_rule(reported: ReportedSettings, movable: frozenset[str]) -> CouplingRule:
    """The couplings that include a movable setting. A coupling that the live server breaks does not apply: it runs that
    way.
    """
    now = reported.overlay
    couplings = (coupling for c in reported.catalogs for coupling in c.couplings)
    kept = tuple(c for c in couplings if c.holds.names & movable and c.holds(now.base))
    return CouplingRule(kept, now.only(frozenset(n for c in kept for n in c.holds.names)))


def _mb(number: int) -> str:
    return f"{number / 2**20:,.0f} MB"
