"""The next step on a live database, where a person approves each step and clients notice its effect.

The steps by priority: first, a return to known settings that are better than the current ones at comparable load. Then
the evidence, and changes that are probably better by the model of this database and its past workloads. Within the
session's budget, a trial to learn. Otherwise, nothing. They are never combined. Shapes: m candidates, k knobs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from lutra_models.advice import Basis, Reason, SearchOrigin
from lutra_models.evidence import Compared, Move, objection, undone
from lutra_models.gp.advice.from_evidence import Evident, evident
from lutra_models.gp.advice.measured_comparisons import Shown
from lutra_models.gp.advice.words import basis, improved, nothing, of_evidence, returns
from lutra_models.gp.learning.fit import ENOUGH
from lutra_models.gp.learning.learned import Learned
from lutra_models.gp.options import Options
from lutra_models.gp.search.careful import CAREFUL
from lutra_models.gp.search.few_changes import with_few_changes
from lutra_models.gp.search.initial_design import legal
from lutra_models.gp.search.maximise import passing, single_moves
from lutra_models.gp.search.safety import heedless, shortfall
from lutra_models.gp.search.scoring import field_of
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.calibration import stretch
from lutra_models.history import History
from lutra_models.knobs import Configuration, Number


@dataclass(frozen=True)
class Advised:
    """The configuration, the step that proposed it, and its basis.

    `reasons` are those of evidence and of a return; for other steps the predictions are the reason.
    """

    origin: SearchOrigin
    configuration: Configuration
    basis: Basis
    reasons: tuple[Reason, ...] = ()


def advise(
    history: History,
    learned: Learned | None,
    rng: np.random.Generator,
    options: Options,
    *,
    exploration: int,
    most: int | None = None,
) -> Advised:
    """The proposal, with at most `exploration` more trials to learn and at most `most` settings changed in all.

    Raises ValueError if the history has no current configuration.
    """
    if history.current is None:
        raise ValueError("a live recommendation needs the current configuration")
    live = _Live(history, history.current, learned, options, most)
    back, found, best = live.back, live.evident, live.best
    if back is not None:
        there, why = back
        reasons = returns(live.current, there, why)
        return live.advised("return", there, "This restores known settings, and tries nothing new.", reasons)
    if found.configuration is not None:
        reasons = tuple(_reason(m) for m in found.moves)
        return live.advised(
            "evidence", found.configuration, of_evidence(history.evidence, found.moves, found.later), reasons
        )
    if best is not None and live.probable_gain(best) >= options.live.least_gain:
        reasons = improved(live.current, best, history.objective, live.probable_gain(best))
        return live.advised("improvement", best, "Based on measurements.", reasons)
    tried = live.explored(rng) if exploration > 0 else None
    if tried is not None:
        verdict = f"No change is known to be worthwhile: this is one of {exploration} remaining trials to learn."
        return live.advised("exploration", tried, verdict)
    return live.advised("nothing", live.current, nothing(history.evidence, options.live))


def _reason(move: Move) -> Reason:
    assert move.after is not None
    return Reason(move.setting, move.before, move.after, move.sentence, against=move.against)


def _special(history: History, name: str) -> tuple[float, ...]:
    domain = history.space[name].domain
    return tuple(domain.special) if isinstance(domain, Number) else ()


_SAME = 1e-9
_SHARES = (1.0, 0.5, 0.25)
"""The largest single move of the search: configurations that are certainly no worse are often near."""


@dataclass(frozen=True)
class _Live:
    """One question, and what is known to answer it."""

    history: History
    current: Configuration
    learned: Learned | None
    options: Options
    most: int | None

    def advised(
        self, origin: SearchOrigin, configuration: Configuration, verdict: str, reasons: tuple[Reason, ...] = ()
    ) -> Advised:
        gain = (0.0 if self.best is None else self.probable_gain(self.best)) if self._compares else None
        told = basis(self.history.evidence, verdict, self.options.live, gain, self.evident.told)
        return Advised(origin, configuration, told, reasons)

    @cached_property
    def evident(self) -> Evident:
        evidence = self.history.evidence
        if evidence is None:
            return Evident(None, (), ())
        return evident(self.history, evidence, self.current, self.most, self._objection, self.options.live)

    @cached_property
    def shown(self) -> Shown:
        return Shown(self.history, self.current)

    @cached_property
    def back(self) -> tuple[Configuration, Compared] | None:
        """Known settings against which the current ones are worse at comparable load, and what was compared."""
        return next((one for one in self.shown.better() if self._wanted(one[0])), None)

    @cached_property
    def best(self) -> Configuration | None:
        """The new configuration, one setting from the current one, with the largest gain that is probable.

        For configurations that were active before, the comparison at comparable load decides. The setting's value lies
        within those that were measured at the current load and pressure: beyond them the model would guess.
        """
        learned, measured = self.learned, self.shown.like_now
        if learned is None or not self._compares or not measured:
            return None
        encoding, here = learned.encoding, learned.encoding.codes([self.current])
        codes, moved = single_moves(encoding, here, [share * m for m in self.options.search.moves for share in _SHARES])
        seen = encoding.codes(measured)
        within = np.all((codes >= seen.min(axis=0) - _SAME) & (codes <= seen.max(axis=0) + _SAME), axis=1)
        codes = codes[~heedless(learned, codes, moved) & within]
        if not len(codes):
            return None

        def score(at: Array) -> Array:
            return np.asarray(self._least(at, here) + self.options.safety.prudence * shortfall(learned, at))

        field = replace(field_of(self.history, encoding, self.options.search), anchors=here)
        found = passing(score, field, codes, score(codes))
        safe = (c for c in found if self._wanted(c) and shortfall(learned, encoding.codes([c]))[0] >= 0.0)
        return next((c for c in safe if self._was_measured(c) and self.shown.against(c) is None), None)

    def _was_measured(self, configuration: Configuration) -> bool:
        """Whether each value that it changes is one that was measured, or a number between two that were."""
        for name, (_, after) in self.current.changes_to(configuration).items():
            values = [c[name] for c in self.shown.like_now]
            numbers = [v for v in values if not isinstance(v, str)]
            between = not isinstance(after, str) and numbers and min(numbers) <= after <= max(numbers)
            if after not in values and (not between or after in _special(self.history, name)):
                return False
        return True

    def probable_gain(self, configuration: Configuration, over: Configuration | None = None) -> float:
        """The relative gain over `over` (the current one) that is reached with the stated probability; below 0: none.

        Over readings that are all zero nothing is gained. Raises ValueError if nothing was learned.
        """
        if self.learned is None:
            raise ValueError("nothing was learned yet")
        codes = self.learned.encoding.codes([configuration, over or self.current])
        transform = self.learned.wary.transform
        readings = np.array([v for _, v in self.history.values(self.history.objective.metric)])
        if not np.any(readings):
            return 0.0
        share = float(self._least(codes[:1], codes[1:])[0]) / transform.relative(1.0, readings)
        if not transform.log:
            return share
        return math.expm1(share) if self.learned.sign > 0 else -math.expm1(-share)

    def explored(self, rng: np.random.Generator) -> Configuration | None:
        """What the careful search would learn from; None if that is nothing new."""
        step = CAREFUL.choose(self.history, self.learned, rng, self.options)
        if self.most is not None:
            step = with_few_changes(self.history, self.learned, step, self.most, True, self.options.search)
        known = {o.configuration for o in self.history.observations} | {self.current}
        return step[1] if step[1] not in known and self._wanted(step[1]) else None

    @cached_property
    def _compares(self) -> bool:
        """Whether there is anything to compare: readings of two configurations, or past workloads."""
        readings = self.history.values(self.history.objective.metric)
        past = self.learned is not None and bool(self.learned.wary_trends)
        return len(readings) >= ENOUGH and (past or len({c for c, _ in readings}) > 1)

    def _least(self, codes: Array, reference: Array) -> Array:
        """(m,) gain of codes (m, k) over the reference (1, k) in standard units, reached with the probability."""
        learned = self.learned
        assert learned is not None
        mean, variance = learned.wary.against(learned.wary_inputs(codes), learned.wary_inputs(reference))
        doubt = stretch(self.history, self.options.calibration)[0] * np.sqrt(variance)
        return np.asarray(learned.sign * mean - NormalDist().inv_cdf(self.options.live.probability) * doubt)

    def _wanted(self, configuration: Configuration) -> bool:
        """Allowed, within the bound on changes, and nothing of it was declined."""
        began, turned_down = self.history.reference or self.current, self.history.turned_down
        few = self.most is None or len(began.changes_to(configuration)) <= self.most
        changes = self.current.changes_to(configuration)
        return (
            few
            and legal(self.history, configuration)
            and undone(turned_down, self.history.evidence, self.current, configuration) is None
            and not any(objection(turned_down, self.history.evidence, n, b, a) for n, (b, a) in changes.items())
        )

    def _objection(self, configuration: Configuration) -> str | None:
        """Where this database has taught that a configuration is worse than the current one."""
        told = self.shown.against(configuration)
        if told is not None:
            better = told.verdict == "better"
            return f"it was active before, and the current settings are better: {told.sentence}" if better else None
        if self.learned is None or not self._compares:
            return None
        loss = self.probable_gain(self.current, configuration)
        if loss < self.options.live.least_gain:
            return None
        return f"according to the measurements here, the objective would be at least {100 * loss:.0f} % worse"
