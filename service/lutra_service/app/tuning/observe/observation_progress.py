"""The check whether the current settings were observed for long enough to propose a change.

Recommendations of findings and rules need no reading of the objective: without readings, a session gives the reason and
continues.
"""

from __future__ import annotations

import math
from statistics import median

from lutra_models.history import History
from lutra_models.metrics import P99

from lutra_service.app.tuning.observe import offered_load
from lutra_service.db.schema.records import Session, StoredReport
from lutra_service.db.store import UnitOfWork

WINDOWS = 3
"""The number of windows of the active settings with the objective; an agent also makes no change after fewer."""
AT_MOST = 2 * WINDOWS
"""The number of windows of these settings to wait for if only some have the objective, as on a quiet database."""
LATEST = 20
SAMPLED = ("activity", "log")
SAMPLES = "activity."
"""The prefix of a server's metrics if the agent can sample its running transactions."""
FEWEST = 100
"""The least number of transactions in a window from which an agent samples a p99, or reads one from the log."""


def missing(seen: History) -> int:
    """The number of windows still to come."""
    metric = seen.objective.metric
    here = [o for o in seen.completed if o.configuration == seen.current]
    read = sum(metric in o.metrics for o in here)
    return max(min(WINDOWS - read, (AT_MOST if read else WINDOWS) - len(here)), 0)


def sentence(seen: History, other_p99: str = "") -> str:
    """How far it is, and for how long it goes on: `other_p99` is what `other_source` says."""
    lacking, metric = missing(seen), seen.objective.metric
    here = [o for o in seen.completed if o.configuration == seen.current]
    lengths = [o.window.seconds for o in seen.completed if o.window is not None]
    left = f"about {lacking * median(lengths):.0f} s more, then it proposes" if lengths else "then it proposes"
    read = f"{len(here)} of {len(here) + lacking} windows under the active settings"
    without = len(here) - sum(metric in o.metrics for o in here)
    lacks = f", {without} of them without {metric}" if without else ""
    return f"observing: {read}{lacks}; {left}{f'; {other_p99}' if other_p99 and metric == P99.name else ''}"


def unread(unit: UnitOfWork, session: Session, seen: History) -> str:
    """The reason why the objective has no readings under the active settings; empty if enough windows have it."""
    metric = seen.objective.metric
    here = [o for o in seen.completed if o.configuration == seen.current][-LATEST:]
    read = sum(metric in o.metrics for o in here)
    if session.mode == "lab" or read >= WINDOWS:
        return ""
    had = f"{read} of the newest {len(here)} windows" if here else "no window yet"
    told = f"{metric} is read in {had}" if read or not here else f"{metric} is not read"
    why = other_source(unit, session) if metric == P99.name else ""
    why = why or _why_not(unit, session, metric)
    return f"{told}: {why}. This answer is based on findings, settings and rules; no gain in {metric} is predicted."


def _why_not(unit: UnitOfWork, session: Session, metric: str) -> str:
    windows = [r for r in unit.reports.windows(session.database_id, LATEST) if r.failure is None and r.metrics]
    asked = offered_load.offered(r.metrics for r in windows)
    if not windows:
        return "nothing was measured under these settings yet"
    if asked and max(asked.values()) == 0:
        rates = ", ".join(f"{name} 0" for name in asked)
        return f"no request of a client finished in the newest {_windows(len(windows))} ({rates})"
    if metric == P99.name and (few := _too_few(windows)):
        return few
    told = ", ".join(f"{rate:,.3g} {name}" for name, rate in asked.items())
    did = f"the newest {_windows(len(windows))} have none" + (f", at {told}" if told else "")
    problems = (unit.databases.get(session.database_id).agent_status or {}).get("problems", ())
    said = f"; its agent says: {'; '.join(problems)}" if problems else ""
    where = "; `lutra-agent check` on its host prints where p99 comes from" if metric == P99.name else ""
    return f"{did}{said}{where}"


def _too_few(windows: list[StoredReport]) -> str:
    """That windows have fewer transactions than p99 is made of, and how long they would have to be."""
    ended = [(_seconds(r), r.metrics["tps"]) for r in windows if "tps" in r.metrics and _seconds(r) > 0]
    sources = {r.p99_source for r in windows if r.p99_source is not None}
    rate = median(rate for _, rate in ended) if ended else 0.0
    length = median(seconds for seconds, _ in ended) if ended else 0.0
    sampled = bool(sources) or any(name.startswith(SAMPLES) for r in windows for name in r.metrics)
    if not sampled or not 0 < rate * length < FEWEST or not sources <= {*SAMPLED}:
        return ""
    wanted = math.ceil(1.5 * FEWEST / rate / 10) * 10
    return (
        f"a window of {length:.0f} s has {rate * length:.0f} transactions, but a sampled p99 needs {FEWEST}; "
        f"agent.interval_s = {wanted} in the agent's file makes windows long enough"
    )


def _windows(count: int) -> str:
    return "window" if count == 1 else f"{count} windows"


def _seconds(report: StoredReport) -> float:
    if report.window_start is None or report.window_end is None:
        return 0.0
    return (report.window_end - report.window_start).total_seconds()


def other_source(unit: UnitOfWork, session: Session) -> str:
    """The message that windows now have p99 from another source than the session's, with the remedy; empty
    otherwise.
    """
    windows = unit.reports.windows(session.database_id, WINDOWS)
    now = next(((r.p99_source, r.p99_of) for r in windows if r.p99_source is not None), None)
    bound = session.p99_source, session.p99_of
    if now is None or session.p99_source is None or now == bound:
        return ""
    told = f"it uses p99 from {bound[0]} (of a {bound[1]}), but the windows have p99 from {now[0]} (of a {now[1]})"
    watched = ", or set `database.watch_transactions = false` for its agent" if now[0] == "activity" else ""
    return f"{told}, which cannot be compared: stop the session and open a new one{watched}"
