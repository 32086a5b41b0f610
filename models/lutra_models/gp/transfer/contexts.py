"""Readings taken under another context (engine version, hardware, threads, offered load) are another workload's.

They are not discarded: they return as past workloads, whose relative effects count as far as they prove to help.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lutra_models.history import History, Observation, same_context
from lutra_models.knobs import Value


def split(history: History) -> tuple[History, tuple[History, ...]]:
    """The history of its own context alone, and one history for each other context that its observations name.

    If nothing was measured in its own context yet, the first of them has no observations.
    """
    groups: list[tuple[Mapping[str, Value], list[Observation]]] = [(history.context or {}, [])]
    for observation in history.observations:
        context = {**(history.context or {}), **(observation.context or {})}
        group = next((g for known, g in groups if same_context(known, context)), None)
        if group is None:
            group = []
            groups.append((context, group))
        group.append(observation)
    own, *others = groups
    if not others:
        return history, ()
    return _only(history, *own), tuple(_only(history, *other) for other in others)


def _only(history: History, context: Mapping[str, Value], observations: list[Observation]) -> History:
    return replace(history, context=context, observations=tuple(observations))
