"""The server's own histogram of commands. It times only their execution, without the socket and the wait behind
others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from lutra_agent.engines.common.percentile import percentile

US_PER_MS = 1000.0
KEY = "histogram_usec"

Histogram = Mapping[float, int]
"""Commands since the server started, by the upper end of their range in microseconds."""


def read(answer: Any) -> Histogram:
    """The histogram of all commands together. A line of a different form is ignored."""
    found: dict[float, int] = {}
    for _, about in _pairs(answer):
        buckets = dict(_pairs(about)).get(KEY, ())
        before = 0
        for end, until in _pairs(buckets):
            if isinstance(end, int) and isinstance(until, int):
                found[float(end)] = found.get(float(end), 0) + until - before
                before = until
    return found


def p99_ms(before: Histogram, after: Histogram) -> float | None:
    """The p99 of commands between two readings; None if there are none, or if the histogram was reset meanwhile."""
    ends = sorted(after)
    counts = [after[end] - before.get(end, 0) for end in ends]
    if not ends or min(counts) < 0 or any(end not in after for end in before):
        return None
    found = percentile(list(pairwise([0.0, *ends])), counts)
    return None if found is None else found / US_PER_MS


def _pairs(answer: Any) -> list[tuple[Any, Any]]:
    items: Sequence[Any] = answer if isinstance(answer, list) else ()
    return list(zip(items[::2], items[1::2], strict=False))
