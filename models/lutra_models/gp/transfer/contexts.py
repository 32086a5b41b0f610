"""Readings taken under another context (engine version, hardware, threads, offered load) are another workload's.

They are not thrown away: they come back as past workloads, whose relative effects count as far as they prove to help.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from lutra_models.history import History, Observation
from lutra_models.knobs import Value

_ALIKE = 0.25
"""Numbers within this relative distance are the same circumstances: a load never repeats exactly."""


def split(history: History) -> tuple[History, tuple[History, ...]]:
    """The history of its own context alone, and one history for each other context that its observations name."""
    groups: list[tuple[Mapping[str, Value], list[Observation]]] = [(history.context or {}, [])]
    for observation in history.observations:
        context = {**(history.context or {}), **(observation.context or {})}
        group = next((g for known, g in groups if _agree(known, context)), None)
        if group is None:
            group = []
            groups.append((context, group))
        group.append(observation)
    own, *others = (members for _, members in groups)
    if not others or not own:
        return history, ()
    return replace(history, observations=tuple(own)), tuple(replace(history, observations=tuple(o)) for o in others)


def _agree(one: Mapping[str, Value], two: Mapping[str, Value]) -> bool:
    return all(_alike(value, two[name]) for name, value in one.items() if name in two)


def _alike(one: Value, two: Value) -> bool:
    if isinstance(one, str) or isinstance(two, str):
        return one == two
    return math.isclose(one, two, rel_tol=_ALIKE)
