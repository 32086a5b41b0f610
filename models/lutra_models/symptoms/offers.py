"""The cures of a symptom, and the values that may be offered: inside the range, the policy and the memory limit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from lutra_models.catalog import LiveSettings
from lutra_models.catalog.values import factor
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Applies, Configuration, Knob, Number, Refusal, Value
from lutra_models.server import Policy
from lutra_models.symptoms.rows import Way

LEAST_CHANGE = 0.05
"""A number that would move by a smaller share stays: the difference would not be noticeable."""
OR = " or "
"""Separates words, of which the first that the server has is used."""
UNTOUCHED = ("", "default", "override", "compiled", "compile-time", "auto")
"""The servers' words for a value that they chose themselves. With any other source, somebody set the value."""


@dataclass(frozen=True)
class Wish:
    """A symptom's wish for one setting, in bytes, milliseconds or plain numbers, or as a word.

    A part of a `whole` cure has no effect.
    """

    setting: str
    way: Way
    value: Value
    reason: str
    whole: bool = False


@dataclass(frozen=True)
class Cure:
    """A change of one setting that a symptom recommends, in the server's own unit.

    `after` is None if nothing can be offered, and `obstacle` is the reason; with both, the rules allow only this value.
    `set_by` is the place in which the current value was set, None if it is the server's default. `unreached` are the
    roles and databases with their own value.
    """

    setting: str
    before: Value
    before_text: str
    after: Value | None
    after_text: str | None
    applies: Applies
    reason: str
    set_by: str | None = None
    obstacle: str | None = None
    unreached: str | None = None


class Offers:
    """Makes cures of wishes, one symptom after the other, the strongest first.

    Earlier offers count: all increases together keep the rules, and two cures never move a setting in opposite
    directions. If memory is short, no offer takes more of it.
    """

    def __init__(self, live: LiveSettings, policy: Policy, *, memory_short: bool = False) -> None:
        self._live = live
        self._policy = policy
        self._memory_short = memory_short
        self._raised: dict[str, Value] = {}
        self._ways: dict[str, Way] = {}

    def cures(self, wishes: Sequence[Wish]) -> tuple[Cure, ...]:
        """The cures of one symptom. Settings that the server does not report, and words that are already set, are left
        out; a number that cannot move has a reason.
        """
        return tuple(self._cure(w) for w in wishes if w.setting in self._live.values and not self._is_so(w))

    def _is_so(self, wish: Wish) -> bool:
        """Whether the present word is the wanted one."""
        before, wanted = self._live.values[wish.setting], wish.value
        return isinstance(before, str) and before.lower() == str(wanted).lower().partition(OR)[0]

    def _cure(self, wish: Wish) -> Cure:
        before = self._live.values[wish.setting]
        try:
            after, obstacle = self._offered(wish, before)
        except InvalidConfiguration as error:
            after, obstacle = None, str(error).removeprefix("no setting may move: ")
        if after is not None:
            self._remember(wish, after)
        reported = self._live.server.settings[wish.setting]
        applies: Applies = "restart" if reported.applies == "fixed" else reported.applies
        return Cure(
            setting=wish.setting,
            before=before,
            before_text=self._live.text(wish.setting, before),
            after=after,
            after_text=None if after is None else self._live.text(wish.setting, after),
            applies=applies,
            reason=wish.reason,
            set_by=None if reported.source.lower() in UNTOUCHED else reported.source,
            obstacle=obstacle,
            unreached=reported.unreached,
        )

    def _offered(self, wish: Wish, before: Value) -> tuple[Value | None, str | None]:
        """The value, and why it is not all of the wish. Raises InvalidConfiguration if the setting cannot move."""
        name = wish.setting
        movable = self._policy.movable
        if movable is not None and name not in movable:
            return None, f"{name} is not among the settings that the policy allows to move"
        if self._ways.get(name, wish.way) != wish.way:
            return None, f"a stronger symptom recommends the opposite direction for {name}"
        space = self._live.space(replace(self._policy, movable=frozenset({name})))
        after = _inside(space[name], wish.value)
        if wish.whole and _short(space[name], wish.value):
            return None, f"{name} may not go as far as necessary"
        if isinstance(after, str) or isinstance(before, str):
            refusal = next((r for rule in space.rules if (r := rule(self._with(name, after)))), None)
            return (None, refusal.message) if refusal else (after, None) if after != before else (None, None)
        after = _farther(wish.way, after, self._raised.get(name, before))
        if not _moves(wish.way, before, after):
            return None, f"{name} is already as far as it may go here"
        if self._memory_short and takes_memory(self._live, self._policy, name, after):
            return None, "the host has no free memory: it swaps"

        def refused(value: Value) -> Refusal | None:
            return next((r for rule in space.rules if (r := rule(self._with(name, value)))), None)

        refusal = refused(after)
        if refusal is None or wish.whole:
            return (after, None) if refusal is None else (None, refusal.message)
        domain = space[name].domain
        assert isinstance(domain, Number)
        nearer = _nearer(domain, before, after, lambda value: refused(value) is None)
        return (nearer if _moves(wish.way, before, nearer) else None), refusal.message

    def _with(self, name: str, value: Value) -> Configuration:
        return Configuration({**self._raised, name: value})

    def _remember(self, wish: Wish, after: Value) -> None:
        self._ways[wish.setting] = wish.way
        if wish.way != "lower":
            self._raised[wish.setting] = after


_SETS = re.compile(r"(?:SET|ALTER SYSTEM SET|CONFIG SET)\s+(?:(?:GLOBAL|PERSIST|PERSIST_ONLY)\s+)?(.+?);?")
_NEXT = re.compile(r",\s+(?:GLOBAL|PERSIST|PERSIST_ONLY)\s+")
_ASSIGNED = re.compile(r"([\w.-]+)(?:\s*=\s*|\s+TO\s+|\s+)(.*)")
COMPLETING = ("CONFIG REWRITE", "SELECT pg_reload_conf();")
"""Statements that only complete others."""


def worth_executing(statements: Sequence[str], live: LiveSettings) -> tuple[str, ...]:
    """Without those that set only present values, and without the ones that would complete these alone."""
    vain = [s for s in statements if _sets_what_is_so(s, live)]
    left = tuple(s for s in statements if s not in vain)
    return () if vain and all(s in COMPLETING for s in left) else left


def _sets_what_is_so(statement: str, live: LiveSettings) -> bool:
    found = _SETS.fullmatch(statement)
    assigned = [_ASSIGNED.fullmatch(part) for part in _NEXT.split(found[1])] if found else []
    return bool(assigned) and all(a is not None and _has(live, a[1], a[2].strip("'\"")) for a in assigned)


def _has(live: LiveSettings, name: str, wanted: str) -> bool:
    if name not in live.values or live.not_active(name) is not None:
        return False
    present = live.values[name]
    if isinstance(present, str) and wanted[:1].isalpha() and f" {wanted} " in f" {present} ":
        return True  # one class of a setting that has several
    with suppress(InvalidConfiguration):
        return live.parse(name, wanted) == present
    return False


def takes_memory(live: LiveSettings, policy: Policy, name: str, after: Value) -> bool:
    """Whether the memory sum is larger with this value than it is now."""
    return live.memory(policy, {name: after}).total_bytes > live.memory(policy, {}).total_bytes


def _inside(knob: Knob, wanted: Value) -> Value:
    """The legal, readable value next to the wish. Raises InvalidConfiguration if there is none."""
    domain = knob.domain
    if not isinstance(domain, Number):
        options = {o.lower(): o for o in domain.options}
        found = next((options[w] for w in str(wanted).lower().split(OR) if w in options), None)
        if found is None:
            raise InvalidConfiguration(f"{knob.name}: {wanted} is not one of {', '.join(domain.options)}")
        return found
    if isinstance(wanted, str):
        raise InvalidConfiguration(f"{knob.name}: {wanted!r} is not a number")
    if wanted in domain.special:
        return wanted
    value = domain.rounded(wanted / factor(domain.unit))
    return int(value) if domain.integer else float(f"{value:.6g}")


def _short(knob: Knob, wanted: Value) -> bool:
    """Whether the range ends before the wish."""
    domain = knob.domain
    if not isinstance(domain, Number) or isinstance(wanted, str):
        return False
    return domain.high < wanted / factor(domain.unit)


def _farther(way: Way, value: float, other: Value) -> float:
    assert not isinstance(other, str)
    return {"raise": max(value, other), "lower": min(value, other), "set": value}[way]


def _moves(way: Way, before: float, after: Value) -> bool:
    """Far enough, and in the right direction. -1 and 0 stand for something else: going from there is always a move."""
    assert not isinstance(after, str)
    if after == before or before <= 0:
        return after != before
    if (way == "raise" and after < before) or (way == "lower" and after > before):
        return after <= 0
    return abs(after - before) >= LEAST_CHANGE * before


def _nearer(domain: Number, before: float, after: float, allowed: object) -> float:
    """The farthest value from `before` towards `after` that the rules allow; `before` where there is none."""
    assert callable(allowed)
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(_between(domain, before, after, middle)) else (low, middle)
    if low == 0:
        return before
    found = _between(domain, before, after, low)
    readable = domain.rounded(found)
    return readable if min(before, found) <= readable <= max(before, found) and allowed(readable) else found


def _between(domain: Number, before: float, after: float, way: float) -> float:
    if way == 0:
        return before
    value = domain.clip(before + way * (after - before))
    return int(value) if domain.integer else float(f"{value:.6g}")


def accepted(cures: Sequence[Cure]) -> Mapping[str, Value]:
    """Setting → value of all that is offered."""
    return {c.setting: c.after for c in cures if c.after is not None}
