"""The database's final configuration, decided in this one place by one rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lutra_models.advice import FinalOrigin, Share
from lutra_models.gp.learning.learned import Learned, ahead
from lutra_models.gp.search import initial_design
from lutra_models.gp.search.shortening import Allowed, Path, counted_from, path
from lutra_models.knobs import Configuration


@dataclass(frozen=True)
class Final:
    """Its origin (a choice of the search, or the start of the session), and the configuration.

    `simplified_from` is the best by posterior if one with fewer changes is chosen instead; `curve` is the share of its
    gain by number of settings.
    """

    origin: FinalOrigin
    configuration: Configuration
    simplified_from: Configuration | None = None
    curve: tuple[Share, ...] = ()

    def instead(self, configuration: Configuration, baseline: Configuration | None) -> Final:
        """This end, or another configuration in its place, without a curve."""
        if configuration == self.configuration:
            return self
        return Final("baseline" if configuration == baseline else "handover", configuration)


def final(learned: Learned, baseline: Configuration | None, max_changes: int | None = None) -> Final:
    """The best that was measured, or one that was measured as well and gains nearly as much with fewer changes.

    A configuration gives way only to one that is `ahead` of it. The baseline (what was active when the session began)
    gives way to the current configuration, and the remaining one gives way to the best by posterior of the
    configurations that were measured and never failed. Without a baseline the current configuration comes first, and
    changes are counted from it. With a baseline the fewest changes that lose little are chosen. At most `max_changes`
    settings change; if no such configuration is ahead, the baseline stays. Raises ValueError for `max_changes` without
    a configuration to count from.
    """
    ranked, history = learned.ranked(), learned.history
    best = _best(learned, ranked, (baseline, history.current))
    full = _ahead_of_all(learned, ranked, baseline, best)
    reference = history.current if baseline is None else baseline
    if max_changes is not None:
        reference = counted_from(reference)
    if reference is None:
        return Final("handover", full)
    if not reference.changes_to(full):
        return Final("baseline" if full == baseline != best else "handover", full)
    steps = path(learned, full, reference, _allowed(learned))
    chosen = full if baseline is None else _shortest(learned, ranked, full, baseline)
    if max_changes is not None and len(reference.changes_to(chosen)) > max_changes:
        chosen = _few(learned, steps, ranked, reference, max_changes)
    origin: FinalOrigin = "baseline" if chosen == baseline else "handover"
    return Final(origin, chosen, full if chosen not in (full, reference) else None, steps.shares())


def shortened(learned: Learned, baseline: Configuration) -> Configuration:
    """The choice of `final`, every setting back at the baseline whose undo is predicted to cost almost nothing."""
    options = learned.options.search
    steps = path(learned, final(learned, baseline).configuration, baseline, _allowed(learned))
    return steps.shortest(options.handover_loss, options.handover_risk)


def _best(learned: Learned, ranked: list[Configuration], running: tuple[Configuration | None, ...]) -> Configuration:
    legal = (c for c in ranked if c in running or initial_design.legal(learned.history, c))
    return next(legal, learned.history.standing(ranked[0]))


def _ahead_of_all(
    learned: Learned, ranked: list[Configuration], baseline: Configuration | None, best: Configuration
) -> Configuration:
    stays = baseline
    current = learned.history.current
    for challenger in (current if current in ranked else None, best):
        if challenger is not None and (stays is None or ahead(learned, challenger, stays)):
            stays = challenger
    return best if stays is None else stays


def _shortest(
    learned: Learned, ranked: list[Configuration], full: Configuration, baseline: Configuration
) -> Configuration:
    """Of what was measured the one with the fewest changes that loses little of what the full one gains."""
    allowed, most, options = _allowed(learned), len(baseline.changes_to(full)), learned.options.search
    shorter = [c for c in ranked if 0 < len(baseline.changes_to(c)) < most and allowed(c)]
    shorter.sort(key=lambda c: len(baseline.changes_to(c)), reverse=True)
    measured = Path(learned, baseline, (full, *shorter))
    return measured.shortest(options.handover_loss, options.handover_risk)


def _allowed(learned: Learned) -> Allowed:
    """What no rule refuses, what never failed, and what never had its window ended early."""
    hopeless = {o.configuration for o in learned.history.observations if not o.completed or o.bounds}
    return lambda c: c not in hopeless and initial_design.legal(learned.history, c)


def _few(
    learned: Learned, steps: Path, ranked: list[Configuration], reference: Configuration, most: int
) -> Configuration:
    """The best that changes at most so many settings, measured or a step of the path; else the reference."""
    allowed = _allowed(learned)
    measured = [c for c in ranked if len(reference.changes_to(c)) <= most and allowed(c)]
    known = [c for c in (*measured[:1], steps.at_most(most)) if c is not None]
    if not known:
        return reference
    codes = learned.encoding.codes(known)
    best = known[int(np.argmax(learned.sign * learned.wary.latent(learned.wary_inputs(codes))[0]))]
    return best if ahead(learned, best, reference) else reference
