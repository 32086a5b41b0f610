"""Whether the settings of now were observed for long enough that something can be proposed instead of them."""

from __future__ import annotations

from statistics import median

from lutra_models.history import History

from lutra_service.db.schema.records import Session
from lutra_service.db.store import UnitOfWork

WINDOWS = 3
"""Of the settings that are active, with the objective in them: an agent, too, makes no change after fewer."""


def missing(seen: History) -> int:
    """How many windows are still to come."""
    metric = seen.objective.metric
    read = [o for o in seen.completed if metric in o.metrics and o.configuration == seen.current]
    return max(WINDOWS - len(read), 0)


def sentence(seen: History, other_p99: str = "") -> str:
    """How far it is, and for how long it goes on, or why it does not: `other_p99` is what `other_source` says."""
    lacking, metric = missing(seen), seen.objective.metric
    lengths = [o.window.seconds for o in seen.completed if o.window is not None]
    left = f"about {lacking * median(lengths):.0f} s more, then it proposes" if lengths else "then it proposes"
    read = f"{WINDOWS - lacking} of {WINDOWS} windows with {metric} under the settings that are active"
    unmeasured = seen.completed and not any(metric in o.metrics for o in seen.completed)
    never = f"none of {len(seen.completed)} windows has {metric} until now: `lutra-agent check` says what it needs"
    if other_p99 and metric == "p99_ms":
        return f"observing: {read}; {other_p99}"
    return f"observing: {read}; {never if unmeasured else left}"


def other_source(unit: UnitOfWork, session: Session) -> str:
    """That windows have p99 from another source now than the session's, and the way out; empty where they do not."""
    windows = unit.reports.windows(session.database_id, WINDOWS)
    now = next(((r.p99_source, r.p99_of) for r in windows if r.p99_source is not None), None)
    bound = session.p99_source, session.p99_of
    if now is None or session.p99_source is None or now == bound:
        return ""
    told = (
        f"it is bound to p99 from {bound[0]} (of a {bound[1]}), and the windows have p99 from {now[0]} (of a {now[1]})"
    )
    watched = ", or set `database.watch_transactions = false` for its agent" if now[0] == "activity" else ""
    return f"{told}, which do not compare: stop the session and open a new one{watched}"
