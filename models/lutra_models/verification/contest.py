"""A session's finalists, their readings, and the one to measure next: a pure function of the readings.

Finalists are measured in rounds, each once a round. The order is reversed every other round, and the first one changes,
so that drift and neighbours affect all of them equally.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any, Literal

from lutra_models.advice import FinalOrigin, SearchOrigin
from lutra_models.aims import Aim, under
from lutra_models.knobs import Value
from lutra_models.metrics import Limit, Objective
from lutra_models.verification.gains import LEAST_ROUNDS, Comparison, compared, log_ratios, worst_of

_NOTHING = 1e-100
"""The value that replaces a reading of zero before logarithms are compared."""
FinalistName = Literal["best", "rule_based", "baseline"]
NAMES: tuple[FinalistName, ...] = ("best", "rule_based", "baseline")
ORIGINS: Mapping[FinalistName, SearchOrigin | FinalOrigin] = {
    "best": "handover",
    "rule_based": "rule_based",
    "baseline": "baseline",
}
"""The origins of the recommendations that measure each finalist and hand it over."""
ROUNDS = 16
"""The budget of a session that states none."""
NARROW = 0.10
"""An interval whose ends lie this close together is precise enough: the difference is small."""
MARGIN = 0.05
"""The largest certain loss of the best, if it changes fewer settings than the rule-based start."""
HOPELESS = 0.20
"""A finalist that is behind by more than this in each of the first two rounds is not measured further."""
STEADY = 0.25
"""A finalist whose readings differ by more than this is unsteady, if the reference's differ by less."""
MORE_THAN_REFERENCE = 0.10
FORGIVEN_FROM = 8
"""The number of rounds from which one bad reading is attributed to a neighbour and not to the configuration, which
would have caused a second one.
"""
STALLED = 0.35
"""A reading that falls short of the median of those around it by more than this share is a stall."""
AROUND = 2
"""The number of readings on each side of one that count as its neighbours: a longer stall is attributed to the server.
"""
PROOF = (11, 16)
"""Readings without a stall, and with one, that a handed-over configuration needs. A configuration that stalls at every
fourth reading has that few stalls in them with a probability below .07.
"""


@dataclass(frozen=True)
class Finalist:
    """`readings` has the metrics of each round, in order. `failed` says why it is no longer measured."""

    name: FinalistName
    configuration: Mapping[str, Value]
    readings: tuple[Mapping[str, float], ...] = ()
    failed: str | None = None

    def values(self, metric: str) -> list[float]:
        return [r[metric] for r in self.readings]


@dataclass(frozen=True)
class Contest:
    """The finalists of a session, each of another configuration; the baseline is always one of them.

    `budget` is the maximum number of rounds. With an `aim` the aim's metric is the objective, and each reading contains
    the metrics under each load and the aim; `over_loads` makes such readings.
    """

    objective: Objective
    limits: tuple[Limit, ...]
    finalists: tuple[Finalist, ...]
    budget: int = ROUNDS
    aim: Aim | None = None

    def __post_init__(self) -> None:
        if "baseline" not in self.by_name or len(self.by_name) != len(self.finalists):
            raise ValueError(f"each finalist once, and the baseline among them, got {[f.name for f in self.finalists]}")

    @cached_property
    def by_name(self) -> dict[FinalistName, Finalist]:
        return {f.name: f for f in self.finalists}

    @property
    def rounds(self) -> int:
        """The readings of the finalist that was read most."""
        return max(len(f.readings) for f in self.finalists)

    def changes(self, name: FinalistName) -> int:
        """The number of settings that differ from the baseline."""
        there, own = self.by_name["baseline"].configuration, self.by_name[name].configuration
        return sum(there.get(n) != v for n, v in own.items())

    @cached_property
    def _comparisons(self) -> dict[tuple[FinalistName, FinalistName], Comparison]:
        return {}

    def compare(self, challenger: FinalistName, reference: FinalistName) -> Comparison:
        pair = challenger, reference
        if pair not in self._comparisons:
            if self.aim is not None and self.aim.over == "worst":
                loads = self.aim.loads
                found = worst_of([self._compare(*pair, under(self.aim.objective.metric, x), len(loads)) for x in loads])
            else:
                found = self._compare(*pair, self.objective.metric)
            self._comparisons[pair] = found
        return self._comparisons[pair]

    def compare_under(self, load: str, challenger: FinalistName, reference: FinalistName) -> Comparison:
        """Under one of the aim's loads alone."""
        assert self.aim is not None
        return self._compare(challenger, reference, under(self.aim.objective.metric, load))

    def _compare(self, challenger: FinalistName, reference: FinalistName, metric: str, loads: int = 1) -> Comparison:
        one, other = (self.by_name[n].values(metric) for n in (challenger, reference))
        return compared(one, other, self.objective.goal, self.budget, loads)

    def breaks(self, name: FinalistName) -> str | None:
        """The limit that half of its readings, or more, do not keep. Known from the second round on."""
        readings = self.by_name[name].readings
        if len(readings) < 2:
            return None
        for limit in self.limits:
            worst = -math.inf if limit.at_least is not None else math.inf
            if not limit.holds(median(r.get(limit.metric, worst) for r in readings)):
                return str(limit)
        return None

    def relied_on(self, name: FinalistName, rounds: int) -> list[float]:
        """Its readings of the first `rounds` rounds, the worst first; from enough rounds on without a single worst."""
        values = sorted(self.by_name[name].values(self.objective.metric)[:rounds], key=self.objective.gain)
        return values[1:] if rounds >= FORGIVEN_FROM else values

    def is_unsteady(self, name: FinalistName, reference: FinalistName) -> bool:
        """Whether its readings differ much, and more than the reference's, which drift affects equally."""
        rounds = self.compare(name, reference).rounds
        own, other = (spread(self.relied_on(n, rounds)) for n in (name, reference))
        return own > STEADY and own > other + MORE_THAN_REFERENCE

    def wins(self, challenger: FinalistName, reference: FinalistName) -> bool:
        """Whether it is ahead with certainty, and its worst round is no worse if it is unsteady.

        If the best changes fewer settings than the rule-based start, it only has to be certainly no worse than that by
        more than the margin.
        """
        found = self.compare(challenger, reference)
        if found.low <= self._needed(challenger, reference):
            return False
        if not self.is_unsteady(challenger, reference):
            return True
        own, other = (self.objective.gain(self.relied_on(n, found.rounds)[0]) for n in (challenger, reference))
        return own >= other

    def _needed(self, challenger: FinalistName, reference: FinalistName) -> float:
        """What the low end of the comparison has to exceed."""
        own = challenger == "best" and reference == "rule_based"
        shorter = own and self.changes("best") < self.changes("rule_based")
        return math.log1p(-MARGIN) if shorter else 0.0

    def is_settled(self, challenger: FinalistName, reference: FinalistName) -> bool:
        """Whether more rounds of these two would not help."""
        found, needed = self.compare(challenger, reference), self._needed(challenger, reference)
        if self.is_hopeless(challenger, reference) or found.rounds >= self.budget:
            return True
        if found.rounds < LEAST_ROUNDS:
            return False
        if found.low > needed:
            return self.wins(challenger, reference) or found.rounds >= FORGIVEN_FROM
        narrow = needed == 0.0 and found.high - found.low < NARROW
        return narrow or found.high < needed or found.hope <= needed

    def own_stalls(self, name: FinalistName) -> int:
        """The number of its readings that are stalls, beyond those of the other finalist with the most stalls, which
        are attributed to the server.
        """
        return max(0, self._stalls(name) - max((self._stalls(n) for n in self.by_name if n != name), default=0))

    def _stalls(self, name: FinalistName) -> int:
        values = self.by_name[name].values(self.objective.metric)
        goods = [self.objective.gain(math.log(max(v, _NOTHING))) for v in values]
        around = (median(goods[max(0, i - AROUND) : i + AROUND + 1]) for i in range(len(goods)))
        return sum(good < usual + math.log1p(-STALLED) for good, usual in zip(goods, around, strict=True))

    def is_proof(self, name: FinalistName) -> bool:
        """Whether it has enough readings to know that it does not stall by itself."""
        needed = PROOF[min(self.own_stalls(name), len(PROOF) - 1)]
        return len(self.by_name[name].readings) >= min(needed, self.budget)

    def is_hopeless(self, challenger: FinalistName, reference: FinalistName) -> bool:
        metric = self.objective.metric
        one, other = (self.by_name[n].values(metric)[:2] for n in (challenger, reference))
        if min(len(one), len(other)) < 2:
            return False
        return max(log_ratios(one, other, self.objective.goal)) < math.log1p(-HOPELESS)

    def out(self, name: FinalistName) -> str | None:
        """The reason why it can no longer be handed over; None if it can."""
        if (failed := self.by_name[name].failed) is not None:
            return f"failed ({failed})"
        if (limit := self.breaks(name)) is not None:
            return f"breaks the limit {limit}"
        ahead = next((n for n in self.references(name) if self.is_hopeless(name, n)), None)
        if ahead is not None:
            return f"was behind by more than {HOPELESS:.0%} in each of two rounds"
        stalls = self.own_stalls(name) if name != NAMES[-1] else 0
        return f"stalled at {stalls} of {len(self.by_name[name].readings)} readings" if stalls >= len(PROOF) else None

    def references(self, name: FinalistName) -> list[FinalistName]:
        """The finalists that it has to beat: those after it in NAMES that are not excluded themselves."""
        after = NAMES[NAMES.index(name) + 1 :]
        return [n for n in after if n in self.by_name and self.out(n) is None]

    def _wanting(self, name: FinalistName) -> set[FinalistName]:
        """Who has to be measured on, so that it is known whether `name` is handed over."""
        if self.out(name) is not None:
            return set()
        pairs = [(name, other) for other in self.references(name)]
        if not pairs:
            return {name} if len(self.by_name[name].readings) < LEAST_ROUNDS else set()
        settled = [pair for pair in pairs if self.is_settled(*pair)]
        if any(not self.wins(*pair) for pair in settled):
            return set()
        return {side for pair in pairs if pair not in settled for side in pair}

    @property
    def chosen(self) -> FinalistName:
        """The configuration to hand over by the readings so far: the first that is ahead of all others that it has to
        beat.
        """
        return next((n for n in NAMES[:-1] if n in self.by_name and self._is_proven(n)), NAMES[-1])

    def _is_proven(self, name: FinalistName) -> bool:
        if self.out(name) is not None or len(self.by_name[name].readings) < LEAST_ROUNDS:
            return False
        return all(self.wins(name, other) for other in self.references(name))

    def turn(self) -> FinalistName | None:
        """The finalist to measure next; None once the verdict is certain."""
        challengers = [n for n in NAMES[:-1] if n in self.by_name]
        measured = {wanted for name in challengers for wanted in self._wanting(name)}
        if not measured:
            chosen = self.chosen
            return None if chosen == NAMES[-1] or self.is_proof(chosen) else chosen
        done = min(len(self.by_name[n].readings) for n in measured)
        order = self._order(done)
        return next(n for n in order if n in measured and len(self.by_name[n].readings) == done)

    def _order(self, number: int) -> list[FinalistName]:
        """Everybody, in the order of round `number`, counted from 0."""
        names = [n for n in NAMES if n in self.by_name]
        first = number // 2 % len(names)
        turned = names[first:] + names[:first]
        return turned if number % 2 == 0 else turned[::-1]


def over_loads(finalists: Sequence[Finalist], aim: Aim) -> tuple[Finalist, ...]:
    """The finalists with the aim in each of their readings; those of the baseline are its references."""
    flat = [(f, r) for f in finalists for r in f.readings]
    completed = iter(aim.completed([r for _, r in flat], [f.name == "baseline" for f, _ in flat]))
    return tuple(replace(f, readings=tuple(next(completed) for _ in f.readings)) for f in finalists)


def spread(values: Sequence[float]) -> float:
    """Their relative difference: .25 if the highest is a quarter above the lowest."""
    return max(values) / low - 1 if (low := min(values)) > 0 else math.inf


def contest_to_dict(contest: Contest) -> dict[str, Any]:
    """Without the objective and the limits, which the request's history has."""
    return {
        "budget": contest.budget,
        "finalists": [
            {
                "name": f.name,
                "configuration": dict(f.configuration),
                "readings": [dict(r) for r in f.readings],
                "failed": f.failed,
            }
            for f in contest.finalists
        ],
        **({} if contest.aim is None else {"aim": contest.aim.to_dict()}),
    }


def contest_from_dict(document: Mapping[str, Any], objective: Objective, limits: Sequence[Limit]) -> Contest:
    finalists = (Finalist(**{**f, "readings": tuple(f["readings"])}) for f in document["finalists"])
    aim = Aim.from_dict(document["aim"]) if "aim" in document else None
    return Contest(objective, tuple(limits), tuple(finalists), document["budget"], aim)
