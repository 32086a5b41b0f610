"""Turns symptoms, rules and deliberate settings into evidence. A pure function.

Symptoms come first. If a rule agrees with a symptom, its value counts if it goes farther; a rule that disagrees is
ignored. A symptom below the strength of a proposal blocks no rule. A rule applies only to settings at their default, on
a server that was never tuned: an operator who set many of the important settings chose to leave the rest. Its value
goes at most as far as the data need, if their size is known. For a setting that was set on purpose, a rule applies only
if the value is far outside the useful range of any such host. If the host has no memory to spare, no proposal takes
more of it. An accepted symptom proposes nothing, and no rule does so in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lutra_models.assessment.outlying import outlying
from lutra_models.assessment.rows import RuleRow, expected_gain, rule_rows
from lutra_models.catalog import LiveSettings
from lutra_models.catalog.units import scale
from lutra_models.catalog.values import factor
from lutra_models.errors import InvalidConfiguration
from lutra_models.evidence import CURABLE, URGENT, Evidence, Finding, Move, harm, way
from lutra_models.knobs import Configuration, KnobSpace, Number, Value
from lutra_models.server import Policy
from lutra_models.symptoms import Cure, Diagnosis, Symptom
from lutra_models.symptoms.offers import UNTOUCHED, Offers, Wish, takes_memory
from lutra_models.symptoms.sentences import told

MB = 2**20
NEAR = 2.0
"""A number within this factor of its rule's is as good: the difference would not be noticeable."""
TUNED = 1 / 3
"""The share of important settings that somebody has set from which the server counts as tuned."""
RULE_STRENGTH = 0.5
"""The probability that a rule helps is about one half: a rule knows the host, but not the load."""
ACTED_ON = 0.4
"""A weaker symptom is reported without a consequence: it does not block a rule that proposes the same."""
OUTLYING_STRENGTH = 0.6
"""A value that suits no such host is more likely a mistake than a plan."""


def assess(
    live: LiveSettings,
    policy: Policy,
    diagnosis: Diagnosis,
    began: Mapping[str, Value] | None = None,
    accepted: AbstractSet[str] = frozenset(),
) -> Evidence:
    """The evidence of `diagnosis`, made under the live settings, and of the rules, within the operator's `policy`.

    `began` are the settings from before the first change on Lutra's advice; by default the live ones. The risks of the
    symptoms `accepted` are a person's choice: they are not findings, and the settings of their cures count as set on
    purpose. Raises InvalidConfiguration if the server reports an invalid value.
    """
    symptoms = [s for s in diagnosis.symptoms if s.name not in accepted]
    chosen = frozenset(c.setting for s in diagnosis.symptoms if s.name in accepted for c in s.cures)
    wanted = _Rules(live, policy, began or live.values, diagnosis.data, chosen)
    cured = {s.name for s in symptoms if s.strength >= ACTED_ON and any(c.after is not None for c in s.cures)}
    reached = wanted.reached(symptoms)
    advised = {n for n in live.values if not wanted.began_with(n)}
    faults = [_fault(live, s, reached, cured, advised) for s in symptoms]
    ruled = [] if wanted.tuned else wanted.findings(diagnosis.symptoms)
    strange = wanted.strange(diagnosis.symptoms)
    findings = _ordered((*faults, *strange, *ruled), symptoms, cured)
    host = live.server.host
    return Evidence(
        version=live.server.version,
        memory_bytes=host.usable_bytes,
        cores=host.cores,
        findings=findings,
        evaluated=diagnosis.evaluated,
        rules=len(wanted.rows),
        windows=diagnosis.windows,
        seconds=diagnosis.seconds,
        deliberate=tuple(sorted(wanted.deliberate)),
    )


def _ordered(findings: Iterable[Finding], symptoms: Sequence[Symptom], cured: AbstractSet[str]) -> tuple[Finding, ...]:
    """What is urgent as the symptoms are listed; all else by its worth, and last what another cure may end."""
    later = {s.name for s in symptoms if cured & set(s.follows)}
    places = {s.name: place for place, s in enumerate(symptoms) if s.kind in URGENT}

    def rank(finding: Finding) -> tuple[int, int, bool, float, str]:
        urgent = places.get(finding.name, -1)
        return harm(finding.ground), urgent, finding.name in later, -finding.worth, finding.name

    return tuple(sorted(findings, key=rank))


@dataclass(frozen=True)
class _Rules:
    """The rules that matter on this server, and what of them is set already: also where a person has `chosen` so."""

    live: LiveSettings
    policy: Policy
    began: Mapping[str, Value]
    data: Mapping[str, float]
    chosen: frozenset[str]

    @cached_property
    def scope(self) -> dict[str, Any]:
        return {**self.live.overlay.base, **self.data}

    @cached_property
    def rows(self) -> Mapping[str, RuleRow]:
        """By setting, those that count on this server."""
        rows = rule_rows(self.live.server.engine)
        return {r.setting: r for r in rows if r.setting in self.live.values and self._counts(r)}

    def _counts(self, row: RuleRow) -> bool:
        return row.when is None or bool(row.when(self.scope))

    @cached_property
    def deliberate(self) -> frozenset[str]:
        """Settings that somebody has chosen, or set to other than the default before anything was advised."""
        return frozenset(n for n in self.rows if n in self.chosen or (self.began_with(n) and not self._stock(n)))

    @property
    def tuned(self) -> bool:
        return bool(self.rows) and len(self.deliberate) >= TUNED * len(self.rows)

    @cached_property
    def space(self) -> KnobSpace | None:
        """What the rules may move; None if that is nothing."""
        with suppress(InvalidConfiguration):
            return self.live.space(self.policy)
        return None

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """What the rules want of settings that nobody has set, in numbers that people can read where memory allows it.

        Only what is worth a change: a setting that is near its rule stays, and the others are fitted around it.
        """
        if self.space is None:
            return {}
        free = {n for n in self.rows if n in self.space and n not in self.deliberate and self.began_with(n)}
        while free:
            found = self._within_data(self.space, self.live.rule_based(self.policy, only=free), free)
            near = {n for n in free if _near(self.live.values[n], found[n]) or self._roomy(n, found[n])}
            if not near:
                return _readable(self.space, found, free)
            free -= near
        return {}

    def _within_data(self, space: KnobSpace, configuration: Configuration, names: Iterable[str]) -> Configuration:
        """No farther than the data have use for, where their size is known."""
        most = {n: b for n in names if (b := self._most(n)) is not None}
        domains = {n: d for n in most if isinstance(d := space[n].domain, Number)}
        values = {n: d.clip(most[n] / factor(d.unit)) for n, d in domains.items()}
        return configuration.replace({n: int(v) for n, v in values.items() if v < _number(configuration[n])})

    def _most(self, name: str) -> float | None:
        """In the catalogue's bytes; None if no row bounds it, or nobody knows the size of the data."""
        row = self.rows.get(name)
        return None if row is None or row.most is None or not self.data else row.most.number(self.scope)

    def _is_bounded(self, name: str, after: Value) -> bool:
        """Whether the size of the data decides, and not the hardware."""
        most, rule = self._most(name), self.live.rows[name].rule
        if most is None or rule is None:
            return False
        return most < _number(rule.value(self.scope)) and _number(self.base(name, after)) >= most / NEAR

    def _roomy(self, name: str, after: Value) -> bool:
        """Whether the setting has more than the data have use for: giving it back is no matter of a rule."""
        return self._most(name) is not None and way(self.live.values[name], after) == "lower"

    def reached(self, symptoms: Iterable[Symptom]) -> Mapping[str, Value]:
        """Where cures may go as far as the rule for their setting, which raises it more: all of them together keep the
        memory limit and the couplings.
        """
        cures = [c for s in symptoms for c in s.cures if c.after is not None]
        together = {c.setting: c.after for c in cures if c.after is not None}
        found: dict[str, Value] = {}
        for cure in cures:
            after = _farther(cure, self.values.get(cure.setting))
            if after is not None and after != cure.after and self._kept({**together, cure.setting: after}):
                together[cure.setting] = found[cure.setting] = after
        return found

    def _kept(self, wanted: Mapping[str, Value]) -> bool:
        rules = self.live.space(replace(self.policy, movable=frozenset(wanted))).rules
        return not any(rule(Configuration(wanted)) for rule in rules)

    def findings(self, symptoms: Iterable[Symptom]) -> list[Finding]:
        """One for each setting, those that matter most first. No symptom speaks for these settings."""
        shown = list(symptoms)
        asked = {c.setting for s in shown if s.kind in CURABLE for c in s.cures if self._before_rules(s, c)}
        found = (self._finding(name, shown) for name in self.rows if name not in asked)
        return [f for f in found if f is not None]

    def _before_rules(self, symptom: Symptom, cure: Cure) -> bool:
        """Whether a cure silences the rule for its setting: it is acted on, or it wants the opposite."""
        after = self.values.get(cure.setting)
        if symptom.strength >= ACTED_ON or cure.after is None or after is None:
            return symptom.strength >= ACTED_ON
        return way(cure.before, cure.after) != way(cure.before, after)

    def strange(self, symptoms: Sequence[Symptom]) -> list[Finding]:
        """One for each setting that somebody set far outside of its range, where no symptom speaks as loudly of it."""
        loud = (s for s in symptoms if s.kind in CURABLE and s.strength >= OUTLYING_STRENGTH)
        spoken = {*self.chosen, *(c.setting for s in loud for c in s.cures)}
        spoken |= {n for s in symptoms if s.kind == "enough" for n in s.settings}
        ends = {n: e for n, e in outlying(self.live).items() if n not in spoken and self.began_with(n)}
        allowed = ends.keys() if self.policy.movable is None else ends.keys() & self.policy.movable
        policy = replace(self.policy, movable=frozenset(allowed))
        with suppress(InvalidConfiguration):
            ruled = self.live.rule_based(policy, only=allowed)
            space = self.live.space(policy)
            found = _readable(space, self._within_data(space, ruled, ruled), ruled)
            reached = {n: (v, None) if v != self.live.values[n] else self._as_far(n, policy) for n, v in found.items()}
            moving = {n: (v, why) for n, (v, why) in reached.items() if v is not None}
            starved = {n for n, (v, _) in moving.items() if self._starved(n, v, symptoms)}
            return [self._strange(n, v, why, *ends[n]) for n, (v, why) in moving.items() if n not in starved]
        return []

    def _as_far(self, name: str, policy: Policy) -> tuple[Value | None, str | None]:
        """The way to its rule's value as far as the others let it, and what keeps it from more."""
        row, now = self.live.rows[name], self.base(name, self.live.values[name])
        wanted = row.rule.value(self.scope) if row.rule is not None else now
        if isinstance(wanted, str) or isinstance(now, str):
            return None, None
        wanted = min(wanted, self._most(name) or wanted)
        (cure,) = Offers(self.live, policy).cures([Wish(name, "raise" if wanted > now else "lower", wanted, "")])
        return cure.after, cure.obstacle

    def _strange(self, name: str, after: Value, obstacle: str | None, low: str, high: str) -> Finding:
        now, source = self.live.values[name], self.live.server.settings[name].source
        far = f"{self.live.text(name, now)} is far outside {low} to {high}, the sensible range for such a host"
        seen, reason = f"{name} = {far}.", f"{moved(self.live, name, after)}: {far}."
        if after in self.live.rows[name].special:
            reason += f" {self.live.text(name, after)} is outside that range and has a special meaning."
        if self._is_bounded(name, after):
            reason += f" The data on this server need no more than {self.live.text(name, after)}."
        against = f"somebody set it to {self.live.text(name, now)} ({source})"
        if self.needs_restart(name):
            against += "; the restart interrupts clients"
        against += f"; only a part of the recommended value: {obstacle}" if obstacle else ""
        against = self._also(name, against)
        move = Move(name, now, after, reason, self.needs_restart(name), against, obstacle)
        return Finding(name, "outlying", OUTLYING_STRENGTH, seen, (name,), (move,), expected_gain("outlying"))

    def _finding(self, name: str, symptoms: Iterable[Symptom]) -> Finding | None:
        after, row = self.values.get(name), self.rows[name]
        if after is None or self._starved(name, after, symptoms):
            return None
        enough = next((s for s in symptoms if s.kind == "enough" and name in s.settings), None)
        if enough is not None and not row.by_host and way(self.live.values[name], after) == "raise":
            return None
        scope = {**self.scope, "stock": row.stock.value(self.scope), "after": self.base(name, after)}
        against = told(row.against, scope)
        if enough is not None:
            against = f"{against}; the current load does not need it: {enough.sentence.rstrip('.')}"
        against = self._also(name, against)
        why = row.bounded if self._is_bounded(name, after) else row.why
        reason = f"{moved(self.live, name, after)} (rule for this hardware): {told(why, scope)}."
        move = Move(name, self.live.values[name], after, reason, self.needs_restart(name), against)
        return Finding(name, "rule", RULE_STRENGTH, reason, (name,), (move,), expected_gain("rule"))

    def _also(self, name: str, against: str) -> str:
        """With whom the change does not reach."""
        who = self.live.server.settings[name].unreached
        return f"{against}; {_not_reached(who)}" if who else against

    def _starved(self, name: str, after: Value, symptoms: Iterable[Symptom]) -> bool:
        """Whether it would take memory of a host that has none to spare."""
        short = any(s.memory_short for s in symptoms)
        return short and takes_memory(self.live, self.policy, name, after)

    def needs_restart(self, name: str) -> bool:
        return self.live.server.settings[name].applies == "restart"

    def base(self, name: str, value: Value) -> Value:
        """In the catalogue's bytes and milliseconds."""
        return value if isinstance(value, str) else value * factor(self.live.server.settings[name].unit)

    def began_with(self, name: str) -> bool:
        return self.began.get(name, self.live.values[name]) == self.live.values[name]

    def _stock(self, name: str) -> bool:
        if self.live.server.settings[name].source.lower() in UNTOUCHED:
            return True
        now, stock = self.base(name, self.live.values[name]), self.rows[name].stock.value(self.scope)
        return now == stock or (isinstance(now, str) and now.lower() == str(stock).lower())


def _fault(
    live: LiveSettings,
    symptom: Symptom,
    reached: Mapping[str, Value],
    cured: AbstractSet[str],
    advised: AbstractSet[str],
) -> Finding:
    """Without moves where it may go with the cure of what brings it about. Nobody else set what is `advised`."""
    waits = cured & set(symptom.follows)
    cures = (replace(c, set_by=None) if c.setting in advised else c for c in symptom.cures)
    moves = () if waits else tuple(_move(live, symptom, cure, reached) for cure in cures)
    gain = expected_gain(symptom.group)
    return Finding(
        symptom.name,
        symptom.kind,
        symptom.strength,
        symptom.sentence,
        symptom.settings,
        moves,
        gain,
        symptom.statements,
    )


def _move(live: LiveSettings, symptom: Symptom, cure: Cure, reached: Mapping[str, Value]) -> Move:
    after = cure.after if cure.after is None else _farther(cure, reached.get(cure.setting))
    why = cure.reason if after == cure.after else f"{cure.reason}; the rule for this hardware recommends this value"
    if after is None:
        return Move(cure.setting, cure.before, None, symptom.sentence, cure.applies == "restart", "", cure.obstacle)
    return Move(
        cure.setting,
        cure.before,
        after,
        f"{moved(live, cure.setting, after)} ({why}): {symptom.sentence}",
        cure.applies == "restart",
        _against(cure),
        cure.obstacle,
    )


def _farther(cure: Cure, ruled: Value | None) -> Value | None:
    """The symptom's value, or the rule's where both raise a number and the rule goes farther."""
    after = cure.after
    if after is None or ruled is None or isinstance(after, str) or isinstance(ruled, str):
        return after
    both_raise = way(cure.before, after) == way(cure.before, ruled) == "raise"
    return max(after, ruled) if both_raise and cure.obstacle is None else after


def _against(cure: Cure) -> str:
    told_of = [f"somebody set it to {cure.before_text} ({cure.set_by})"] if cure.set_by else []
    told_of += ["the restart interrupts clients"] if cure.applies == "restart" else []
    told_of += [f"only a part of the recommended value: {cure.obstacle}"] if cure.obstacle else []
    told_of += [_not_reached(cure.unreached)] if cure.unreached else []
    return "; ".join(told_of)


def _not_reached(who: str) -> str:
    return f"it does not reach {who}, which have their own values"


def moved(live: LiveSettings, name: str, after: Value) -> str:
    """As in "Raise work_mem from 4MB to 16MB"."""
    before = live.values[name]
    verb = {"raise": "Raise", "lower": "Lower", "set": "Set"}[way(before, after)]
    return f"{verb} {name} from {live.text(name, before)} to {live.text(name, after)}"


def _readable(space: KnobSpace, configuration: Configuration, names: Iterable[str]) -> Configuration:
    """The settings `names` of what was found, in numbers that people can read where the rules of the space allow it."""
    for name in names:
        domain, value = space[name].domain, configuration[name]
        if isinstance(domain, Number) and not isinstance(value, str) and value not in domain.special:
            rounded = (
                configuration.replace({name: v}) for v in (domain.rounded(value), _whole_megabytes(domain, value))
            )
            configuration = next((c for c in rounded if not space.refusal(c)), configuration)
    return configuration.restrict(names)


def _whole_megabytes(domain: Number, value: float) -> float:
    """The whole megabytes in an amount of memory; any other number, and less than two of them, as it is."""
    kind, size = scale(domain.unit)
    if kind != "memory" or value * size < 2 * MB:
        return value
    return int(value * size // MB * MB / size) // domain.step * domain.step


def _number(value: Value) -> float:
    assert not isinstance(value, str)
    return value


def _near(now: Value, after: Value) -> bool:
    if isinstance(now, str) or isinstance(after, str) or now <= 0 or after <= 0:
        return now == after
    return max(now / after, after / now) <= NEAR
