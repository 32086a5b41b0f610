"""The worst-case memory of a configuration, term by term, and the rules that refuse one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lutra_models.catalog.reported import ReportedSettings
from lutra_models.catalog.rows import Coupling, TermRow
from lutra_models.catalog.values import Overlay
from lutra_models.errors import MemoryBudgetExceeded
from lutra_models.knobs import Configuration, Refusal, Value
from lutra_models.server import Policy, Server


@dataclass(frozen=True)
class MemoryTerm:
    """One line of the sum: `formula` as the catalogue has it, true under `assumption`."""

    name: str
    bytes: int
    formula: str
    assumption: str


@dataclass(frozen=True)
class MemorySum:
    terms: tuple[MemoryTerm, ...]
    total_bytes: int


@dataclass(frozen=True)
class MemoryRule:
    """`rule(configuration)`: refuses a worst case above `bound_bytes`, the limit or, where higher, the current sum."""

    terms: tuple[TermRow, ...]
    overlay: Overlay
    limit_bytes: int
    bound_bytes: int

    def total(self, candidate: Mapping[str, Value]) -> int:
        scope = self.overlay.scope(candidate)
        return sum(int(t.formula.number(scope)) for t in self.terms)

    def __call__(self, candidate: Configuration) -> Refusal | None:
        total = self.total(candidate)
        return None if total <= self.bound_bytes else self._refusal(candidate, total)

    def _refusal(self, candidate: Mapping[str, Value], total: int) -> Refusal:
        scope = self.overlay.scope(candidate)
        largest = max(self.terms, key=lambda t: t.formula.number(scope))
        bound = f"the limit of {_mb(self.limit_bytes)}"
        if self.bound_bytes > self.limit_bytes:
            bound = f"the {_mb(self.bound_bytes)} of the current settings (which are above {bound})"
        message = (
            f"the worst case of {_mb(total)} is above {bound}; the largest part is {largest.name}, "
            f"{_mb(int(largest.formula.number(scope)))}: lower what it is made of ({largest.formula})"
        )
        return Refusal(MemoryBudgetExceeded.code, message)


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


def worst_case(reported: ReportedSettings, configuration: Mapping[str, Value]) -> MemorySum:
    """The sum with `configuration` laid over the server's current settings."""
    scope = reported.overlay.scope(configuration)
    terms = tuple(t for c in reported.catalogs for t in c.terms)
    made = tuple(MemoryTerm(t.name, int(t.formula.number(scope)), t.formula.text, t.assumption) for t in terms)
    return MemorySum(made, sum(t.bytes for t in made))


def memory_limit(server: Server, policy: Policy) -> int:
    """In bytes."""
    return int(server.host.memory_bytes * policy.memory_fraction)


def memory_rule(reported: ReportedSettings, policy: Policy) -> MemoryRule:
    terms = tuple(t for c in reported.catalogs for t in c.terms)
    needed = reported.overlay.only(frozenset(n for t in terms for n in t.formula.names))
    limit = memory_limit(reported.server, policy)
    free = MemoryRule(terms, needed, limit, limit)
    return MemoryRule(terms, needed, limit, max(limit, free.total({})))


def coupling_rule(reported: ReportedSettings, movable: frozenset[str]) -> CouplingRule:
    """The couplings that a movable setting takes part in. One that the live server breaks binds nobody: it runs so."""
    now = reported.overlay
    couplings = (coupling for c in reported.catalogs for coupling in c.couplings)
    kept = tuple(c for c in couplings if c.holds.names & movable and c.holds(now.base))
    return CouplingRule(kept, now.only(frozenset(n for c in kept for n in c.holds.names)))


def _mb(number: int) -> str:
    return f"{number / 2**20:,.0f} MB"
