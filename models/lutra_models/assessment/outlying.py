"""Settings that were set far outside the useful range of a host like this, whatever the load shows today.

The catalogue's range of a setting is the region worth a search, derived from the manuals' advice and from the host. A
value below half of its lower end, or above twice its upper end, is no longer a matter of taste. Two exceptions: large
memory, which the memory limit bounds, and 0, which switches something off. A setting that is searched only by name is
probably set on purpose: it counts only if it differs by an order of magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping

from lutra_models.catalog import LiveSettings
from lutra_models.catalog.units import MEMORY, scale
from lutra_models.catalog.values import factor
from lutra_models.symptoms.offers import UNTOUCHED

FAR, FARTHER = 2.0, 10.0
"""The factor beyond an end of the range, for a setting that is searched and for one that is not."""


def outlying(live: LiveSettings) -> Mapping[str, tuple[str, str]]:
    """The settings that somebody set far outside, by name, each with the two ends of its range as people read them.

    Raises InvalidConfiguration if the server reports an invalid value.
    """
    chosen = (n for n in live.values if live.server.settings[n].source.lower() not in UNTOUCHED)
    chosen = (n for n in chosen if live.rows[n].risk == "none")
    return {n: _read(live, n, ends) for n in chosen if (ends := _ends(live, n)) and _far(live, n, *ends)}


def _ends(live: LiveSettings, name: str) -> tuple[float, float] | None:
    """In bytes, milliseconds or plain numbers."""
    row, base = live.rows[name], live.overlay.base
    return None if row.low is None or row.high is None else (row.low.number(base), row.high.number(base))


def _far(live: LiveSettings, name: str, low: float, high: float) -> bool:
    value, unit = live.values[name], live.server.settings[name].unit
    if isinstance(value, str) or value <= 0 or value in live.rows[name].special:
        return False
    now, far = value * factor(unit), FAR if live.rows[name].tune else FARTHER
    return far * now <= low or (now >= far * high and scale(unit)[0] != "memory")


def _read(live: LiveSettings, name: str, ends: tuple[float, float]) -> tuple[str, str]:
    """A share of the host's memory in whole megabytes: its last bytes are nobody's advice."""
    unit, mega = live.server.settings[name].unit, MEMORY["MB"]
    in_memory = scale(unit)[0] == "memory"
    whole = (round(end / mega) * mega if in_memory and end >= mega else end for end in ends)
    low, high = (live.text(name, round(end / factor(unit), 6)) for end in whole)
    return low, high
