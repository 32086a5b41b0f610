"""The settings that may move, with their ranges: catalogue rows combined with the live server and the policy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lutra_models.catalog.limits import limit_rule
from lutra_models.catalog.reported import ReportedSettings
from lutra_models.catalog.rows import KnobRow
from lutra_models.catalog.sums import coupling_rule, memory_rule, with_least
from lutra_models.catalog.units import show
from lutra_models.catalog.values import Overlay, factor
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Choice, Configuration, Domain, Knob, KnobSpace, Number, Value
from lutra_models.server import Policy, ServerSetting

COSTS = {
    "durability": "has values that can lose committed data",
    "host": "concerns everything that runs on the machine",
}


class NoRoom(Exception):
    """The live server leaves a setting fewer than two values to choose from."""


def space(
    reported: ReportedSettings,
    policy: Policy,
    reference: Configuration | None = None,
    known: Iterable[Mapping[str, Value]] = (),
) -> KnobSpace:
    """The movable settings, each range containing the reference's value, otherwise the current one.

    Raises InvalidConfiguration if the policy contradicts the server, or no setting is left.
    """
    _verify_policy(reported, policy)
    held = reported.values if reference is None else reported.values.replace(reference)
    knobs: list[Knob] = []
    reasons: list[str] = []
    known = tuple(known)
    rows = [row for row in (reported.rows[name] for name in reported.values) if _chosen(row, policy)]
    obstacles = {row.name: _obstacle(row, reported.server.settings[row.name], policy) for row in rows}
    effects = _Effects.of(reported, {n for n, why in obstacles.items() if why is None}, known)
    for row in rows:
        why = obstacles[row.name] or effects.lacking(row)
        if why is None:
            try:
                knobs.append(_knob(reported, policy, row, held[row.name]))
            except NoRoom as room:
                why = str(room)
        if why is not None:
            reasons.append(f"{row.name} {why}")
    if not knobs:
        raise InvalidConfiguration(f"no setting may move: {'; '.join(reasons) or 'the policy names none'}")
    movable = frozenset(k.name for k in knobs)
    rule = with_least(memory_rule(reported, policy, known), knobs)
    return KnobSpace(knobs, (rule, coupling_rule(reported, movable), limit_rule(reported, known)))


def _verify_policy(reported: ReportedSettings, policy: Policy) -> None:
    """What the operator wrote is true or refused, whether or not it matters today."""
    for name, value in policy.pins.items():
        reported.parse(name, value)
    for name in policy.ranges:
        if reported.row(name).kind in ("bool", "enum"):
            raise InvalidConfiguration(f"{name}: it has options, not a range; pin it to one of them instead")
        _range(reported, policy, name)
    for name in sorted(policy.movable or ()):
        risk = reported.row(name).risk
        if not policy.admits(risk):
            raise InvalidConfiguration(f"{name}: it {COSTS[risk]}; allow {risk} in the policy to move it")


def _chosen(row: KnobRow, policy: Policy) -> bool:
    if policy.movable is not None:
        return row.name in policy.movable
    return row.tune and policy.admits(row.risk)


@dataclass(frozen=True)
class _Effects:
    """Whether a setting has an effect on this server: a session asks again after each trial, and its space stays one.

    So what a setting needs is fulfilled too where the `moving` settings may come to fulfil it, and where a
    configuration that the server ran under, as the session's own beginning, did.
    """

    moving: frozenset[str]
    scopes: tuple[Mapping[str, float | str], ...]

    @classmethod
    def of(cls, reported: ReportedSettings, moving: Iterable[str], known: Iterable[Mapping[str, Value]]) -> _Effects:
        overlay = reported.overlay
        return cls(frozenset(moving), (overlay.base, *(overlay.scope(c) for c in known)))

    def lacking(self, row: KnobRow) -> str | None:
        """Why it has none."""
        needs = row.needs
        if needs is None or needs.names & (self.moving - {row.name}) or any(needs(scope) for scope in self.scopes):
            return None
        return f"has no effect on this server: it needs {needs}"


def _obstacle(row: KnobRow, setting: ServerSetting, policy: Policy) -> str | None:
    if row.name in policy.pins:
        return "is pinned"
    if setting.shadowed:
        return f"is set by {setting.shadowed}, which overrides the agent's file"
    if "fixed" in (setting.applies, row.applies):
        return "cannot be changed on this server"
    if setting.applies == "reboot":
        return "needs a reboot of its host, which only the host's operator can do"
    if setting.applies == "restart" and not policy.restart:
        return "needs a restart, which is not allowed"
    if (setting.kind in ("integer", "real")) != (row.kind in ("integer", "real")):
        return f"is a {setting.kind} on this server, not a {row.kind}"
    return None


def _knob(reported: ReportedSettings, policy: Policy, row: KnobRow, current: Value) -> Knob:
    setting = reported.server.settings[row.name]
    if isinstance(current, str):
        domain: Domain = _choice(row, setting, current)
    else:
        domain = _number(row, setting, reported.overlay, current)
        if row.name in policy.ranges:
            domain = _narrowed(row.name, domain, _range(reported, policy, row.name))
    assert setting.applies != "fixed"
    return Knob(row.name, domain, setting.applies, row.risk)


def _choice(row: KnobRow, setting: ServerSetting, current: str) -> Choice:
    options = row.booleans if setting.kind == "bool" else row.options
    taken = [o for o in options if not setting.options or o in setting.options]
    if current not in taken:
        taken.append(current)
    if len(taken) < 2:
        raise NoRoom(f"has only {', '.join(taken)} on this server")
    return Choice(tuple(taken))


def _number(row: KnobRow, setting: ServerSetting, facts: Overlay, current: float) -> Number:
    """The row's range in the live unit, within the live limits, wide enough for the current value."""
    assert row.low is not None
    assert row.high is not None
    per_unit = factor(setting.unit)
    low, high = (f.number(facts.base) / per_unit for f in (row.low, row.high))
    special = tuple(s for s in row.special if setting.low is None or s >= setting.low)
    if row.risk == "availability":
        low, high = max(low, current), max(high, 2 * current)
        special = tuple(s for s in special if s == current)
    elif current not in special:
        if row.log and current <= 0:
            special = (*special, current)
        else:
            low, high = min(low, current), max(high, current)
    low = low if setting.low is None else max(low, setting.low)
    high = high if setting.high is None else min(high, setting.high)
    integer = setting.kind == "integer"
    step = _step(row, facts, per_unit, current) if integer else 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise NoRoom(f"has no room between {low:g} and {high:g}")
    if integer:
        low, high = _inwards(low, high, step)
    if not low < high:
        raise NoRoom(f"has no room between {low:g} and {high:g}" + (f" in steps of {step}" if step > 1 else ""))
    return Number(low, high, setting.unit, row.log and low > 0, integer, special, step)


def _step(row: KnobRow, facts: Overlay, per_unit: float, current: float) -> int:
    """What the server rounds to; 1 if the current value shows that it does not."""
    if row.multiple_of is None:
        return 1
    step = max(1, int(row.multiple_of.number(facts.base) / per_unit))
    return 1 if current % step else step


def _inwards(low: float, high: float, step: int) -> tuple[int, int]:
    """The outermost multiples of `step` inside; exact for integers beyond what a float holds."""
    return -(-math.ceil(low) // step) * step, math.floor(high) // step * step


def _range(reported: ReportedSettings, policy: Policy, name: str) -> tuple[float, float]:
    low, high = (reported.parse(name, end) for end in policy.ranges[name])
    if isinstance(low, str) or isinstance(high, str):
        raise InvalidConfiguration(f"{name}: this server reports it as a text, which has no range")
    if not low < high:
        raise InvalidConfiguration(
            f"{name}: a range needs its low end below its high one, got {low} and {high}; or pin it"
        )
    return low, high


def _narrowed(name: str, domain: Number, asked: tuple[float, float]) -> Number:
    low, high = max(domain.low, asked[0]), min(domain.high, asked[1])
    if domain.step > 1:
        low, high = _inwards(low, high, domain.step)
    if not low < high:
        texts = [show(v, domain.unit) for v in (*asked, domain.low, domain.high)]
        raise InvalidConfiguration(
            f"{name}: the range {texts[0]} to {texts[1]} does not overlap {texts[2]} to {texts[3]}, "
            "where it is searched; widen the range, or pin the setting"
        )
    return replace(domain, low=low, high=high, special=tuple(s for s in domain.special if asked[0] <= s <= asked[1]))
