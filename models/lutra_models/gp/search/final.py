"""What a database is left with: the one place where that is decided, by one rule."""

from __future__ import annotations

from lutra_models.advice import FinalOrigin
from lutra_models.gp.learning.learned import Learned, ahead
from lutra_models.gp.search import initial_design
from lutra_models.knobs import Configuration

Final = tuple[FinalOrigin, Configuration]
"""Whether it is a choice of the search or where the session began, and the configuration."""


def final(learned: Learned, baseline: Configuration | None) -> Final:
    """A configuration gives way only to one that is `ahead` of it.

    The baseline (what was active when the session began) gives way to the current configuration, and whichever of the
    two then stays gives way to the best by posterior of what was measured and never failed. Without a baseline the
    current configuration comes first.
    """
    history = learned.history
    ranked = learned.ranked()
    running = (baseline, history.current)
    best = next((c for c in ranked if c in running or initial_design.legal(history, c)), ranked[0])
    stays = baseline
    for challenger in (history.current if history.current in ranked else None, best):
        if challenger is not None and (stays is None or ahead(learned, challenger, stays)):
            stays = challenger
    chosen = best if stays is None else stays
    return ("baseline" if chosen == baseline != best else "handover"), chosen
