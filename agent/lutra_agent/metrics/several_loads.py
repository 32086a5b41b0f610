"""One trial under several loads, measured one after the other: their windows combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lutra_models.aims import under
from lutra_models.knobs import Value

from lutra_agent.drivers.base import Measurement
from lutra_agent.errors import DriverFailed
from lutra_agent.reporting.content import Content

LONGEST_NAME = 128
"""The length limit of a metric's name on the wire."""


@dataclass(frozen=True)
class Driven:
    """One load's window: its clients' readings, the server's counters meanwhile, and the circumstances of the load."""

    measured: Measurement
    counters: Mapping[str, float]
    context: Mapping[str, Value]
    texts: Mapping[str, str] = field(default_factory=dict)


def together(driven: Mapping[str, Driven]) -> Content:
    """The clients' readings under each load as `<metric>.<load>`, and the context in the same way; the counters' mean
    over all windows.

    The window lasts from the start of the first load's window to the end of the last one's. Raises DriverFailed.
    """
    metrics = {under(m, load): v for load, one in driven.items() for m, v in one.measured.metrics.items()}
    if long := [name for name in metrics if len(name) > LONGEST_NAME]:
        raise DriverFailed(f"{long[0]}: with several loads, a metric's name has at most {LONGEST_NAME} letters")
    context: dict[str, Value] = {"driver": f"loads {', '.join(driven)}"}
    for load, one in driven.items():
        context |= {under(name, load): value for name, value in one.context.items()}
        context[under("p99_of", load)] = one.measured.p99_of
    windows = [one.measured for one in driven.values()]
    return Content(
        window=(min(w.window_start for w in windows), max(w.window_end for w in windows)),
        metrics={**_mean(list(driven.values())), **metrics},
        context=context,
        texts=list(driven.values())[-1].texts,
    )


def _mean(driven: Sequence[Driven]) -> dict[str, float]:
    """Of the counters that each window has, by the windows' lengths."""
    seconds = [(d.measured.window_end - d.measured.window_start).total_seconds() for d in driven]
    common = set.intersection(*(set(d.counters) for d in driven))
    return {
        name: sum(s * d.counters[name] for s, d in zip(seconds, driven, strict=True)) / sum(seconds)
        for name in driven[0].counters
        if name in common
    }
