"""p99 of a window's transactions from two readings of the sampler."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.ages.bins import RANGES, Counts
from lutra_agent.engines.postgresql.telemetry.ages.distribution import Percentile, Seen, masses, percentile, together
from lutra_agent.engines.postgresql.telemetry.ages.sampler import Looks

FEWEST_SAMPLES = 20
MOST_OF_SEVERAL = 0.002
"""The share of multi-statement transactions among those seen to end, above which only the ages represent all."""


def p99(before: Looks, after: Looks, transactions: float, window_s: float) -> Percentile | None:
    """None if too few transactions ended in the window or were sampled. `transactions` are all but the agent's."""
    samples, several = after.samples - before.samples, after.several - before.several
    if samples < FEWEST_SAMPLES:
        return None
    ended = after.ended - before.ended
    if several > MOST_OF_SEVERAL * (several + ended.total):
        ended = Counts((0,) * RANGES)
    seen = Seen(after.ages - before.ages, ended, samples, transactions, window_s * 1000)
    fitted = masses(seen)
    return None if fitted is None else percentile(seen, together(fitted, after.outside - before.outside))
