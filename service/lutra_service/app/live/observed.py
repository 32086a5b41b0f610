"""Whether the settings of now were observed for long enough that something can be proposed instead of them."""

from __future__ import annotations

from statistics import median

from lutra_models.history import History

WINDOWS = 3
"""Of the settings that are active, with the objective in them: an agent, too, makes no change after fewer."""


def missing(seen: History) -> int:
    """How many windows are still to come."""
    metric = seen.objective.metric
    read = [o for o in seen.completed if metric in o.metrics and o.configuration == seen.current]
    return max(WINDOWS - len(read), 0)


def sentence(seen: History) -> str:
    """How far it is, and for how long it goes on."""
    lacking, metric = missing(seen), seen.objective.metric
    lengths = [o.window.seconds for o in seen.completed if o.window is not None]
    left = f"about {lacking * median(lengths):.0f} s more, then it proposes" if lengths else "then it proposes"
    read = f"{WINDOWS - lacking} of {WINDOWS} windows with {metric} under the settings that are active"
    unmeasured = seen.completed and not any(metric in o.metrics for o in seen.completed)
    never = f"; none of {len(seen.completed)} windows has {metric} until now: `lutra-agent check` says what it needs"
    return f"observing: {read}; {left}{never if unmeasured else ''}"
