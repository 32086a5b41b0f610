"""The rule-based configuration: established rules applied to this host, scaled into the memory limit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from lutra_models.catalog.limits import LimitRule
from lutra_models.catalog.reported import ReportedSettings
from lutra_models.catalog.rows import KnobRow
from lutra_models.catalog.spaces import space
from lutra_models.catalog.sums import CouplingRule, MemoryRule
from lutra_models.catalog.units import scale
from lutra_models.catalog.values import Overlay, factor
from lutra_models.knobs import Choice, Configuration, Knob, KnobSpace, Number, Value
from lutra_models.server import Policy

ROUND_FROM_BYTES = 16 * 2**20
MB = 2**20


def rule_based(
    reported: ReportedSettings,
    policy: Policy,
    known: Iterable[Mapping[str, Value]] = (),
    only: Collection[str] | None = None,
) -> Configuration:
    """Complete over `space(...)`, and none of its rules refuses it. With `only`, other settings keep their values."""
    searched, now = space(reported, policy, known=known), reported.values
    moving = frozenset(searched.names if only is None else only)
    values = {k.name: now[k.name] for k in searched}
    values |= {
        k.name: _ruled(reported.rows[k.name], k, now[k.name], reported.overlay) for k in searched if k.name in moving
    }
    _keep_limits(values, now, searched)
    _keep_couplings(values, now, searched)
    for rule in searched.rules:
        if isinstance(rule, MemoryRule):
            _shrink([n for c in reported.catalogs for n in c.shrink if n in moving], values, searched, rule)
            if any(_lowered(c.main_cache, values, now) for c in reported.catalogs):
                values.update({n: now[n] for n in rule.names if n in values})
    candidate = Configuration(values)
    return candidate if searched.refusal(candidate) is None else now.restrict(searched.names)


def _ruled(row: KnobRow, knob: Knob, current: Value, facts: Overlay) -> Value:
    """The row's rule inside the knob's domain; without a rule, the current value."""
    found = row.rule.value(facts.base) if row.rule is not None else None
    if isinstance(knob.domain, Choice):
        return found if isinstance(found, str) and found in knob.domain else current
    if found is None or isinstance(found, str):
        assert not isinstance(current, str)
        return knob.domain.clip(current)
    if found in knob.domain.special:
        return found
    return knob.domain.clip(_rounded(found, knob.domain) / factor(knob.domain.unit))


def _rounded(base: float, domain: Number) -> float:
    """Whole megabytes where they are many: people read these."""
    if scale(domain.unit)[0] == "memory" and base >= ROUND_FROM_BYTES:
        return base // MB * MB
    return base


def _keep_limits(values: dict[str, Value], now: Configuration, searched: KnobSpace) -> None:
    """What an exceeded limit reads is raised no further than it allows."""
    for rule in searched.rules:
        if not isinstance(rule, LimitRule):
            continue
        for name in sorted(n for n in rule.names if n in values and _above(values[n], now[n])):
            found, domain = dict(values), searched[name].domain
            _shrink([name], found, searched, rule)
            if not rule.allows(values) and isinstance(domain, Number):
                values[name] = found[name] if _above(found[name], now[name]) else now[name]


def _keep_couplings(values: dict[str, Value], now: Configuration, searched: KnobSpace) -> None:
    """A broken coupling takes its settings back to what they are now."""
    for rule in searched.rules:
        if not isinstance(rule, CouplingRule):
            continue
        for _ in rule.couplings:
            broken = rule.broken(values)
            if broken is None:
                break
            values.update({n: now[n] for n in broken.holds.names if n in values})


def _lowered(name: str | None, values: Mapping[str, Value], now: Configuration) -> bool:
    return name is not None and name in values and _above(now[name], values[name])


def _above(one: Value, other: Value) -> bool:
    return not isinstance(one, str) and not isinstance(other, str) and one > other


def _shrink(names: Sequence[str], values: dict[str, Value], searched: KnobSpace, rule: MemoryRule | LimitRule) -> None:
    """Lower the settings `names`, one after the other, each no further than it must."""
    for name in names:
        if rule.allows(values):
            return
        domain = searched[name].domain if name in searched else None
        if isinstance(domain, Number) and values[name] not in domain.special:
            values[name] = _largest(name, values, domain, rule)


def _largest(name: str, values: dict[str, Value], domain: Number, rule: MemoryRule | LimitRule) -> Value:
    """By bisection over whole units; the domain's low end where nothing fits."""
    low, high = int(domain.low), int(values[name])
    if not rule.allows({**values, name: low}):
        return low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rule.allows({**values, name: middle}) else (low, middle)
    per_unit = factor(domain.unit)
    return max(int(domain.low), int(_rounded(low * per_unit, domain) / per_unit) // domain.step * domain.step)
