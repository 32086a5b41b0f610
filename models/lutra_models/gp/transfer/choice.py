"""The choice of the workloads from which a recommendation learns, among the likeliest: no owner may displace the
others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

CHOSEN = 8
"""Past workloads from which a recommendation may learn. Their posteriors are consulted again when the model is fitted.
"""
LOOKED_AT = 64
"""The likeliest ones, from which they are chosen."""


def chosen(likeliest: Sequence[tuple[str, str]], own: str, count: int = CHOSEN, each: int = 1) -> list[str]:
    """Of (id, owner), the likeliest first, the first `count`, with at most `each` of one owner but `own`."""
    taken: Counter[str] = Counter()
    out: list[str] = []
    for id_, owner in likeliest:
        if len(out) < count and (owner == own or taken[owner] < each):
            taken[owner] += 1
            out.append(id_)
    return out
