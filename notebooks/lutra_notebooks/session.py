"""One session: what it measured, the best so far, what was tried where, and what it cost.

Shapes: t trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from lutra_client import Client
from lutra_client.schemas import ObservationAnswer, SessionAnswer, TrialAnswer
from lutra_models.history import History

from lutra_notebooks.naming import counted

if TYPE_CHECKING:
    from lutra_models.gp import Options

RECENT = 20
"""Databases whose newest session is looked at: those that reported last."""
FITS = 12
"""Places of a session at which the best so far is computed."""
TRIALS = (
    *("trial", "origin", "at", "minutes", "reading", "bound", "state", "median", "low", "high", "gain", "changes"),
    *("measuring", "changing", "waiting", "configuration"),
)


def newest(client: Client) -> SessionAnswer | None:
    """The session that was opened last, of the databases that reported last; None where there is none. An imported
    table is none: its database has never reported."""
    reporting = [d for d in client.databases.list() if d["last_report_at"]]
    databases = sorted(reporting, key=lambda d: d["last_report_at"] or d["created_at"], reverse=True)
    found = [s for d in databases[:RECENT] if (s := client.sessions.list(d["id"], limit=1).first()) is not None]
    return max(found, key=lambda s: s["created_at"], default=None)


def trials(client: Client, session: SessionAnswer) -> pd.DataFrame:
    """A row a trial that has ended: its `origin`, when it ended (`at`, and in `minutes` since the session's first
    window began), its `reading` of the objective or the `bound` of a window that was ended early, its `state`
    (measured, ended early, failed), what was predicted (`median`, `low`, `high`), the `gain` over the baseline in
    percent of it, how many settings it `changes`, and its minutes of `measuring`, of `changing` settings and warming
    up, and of `waiting` before that."""
    metric = session["objective"]["metric"]
    windows: dict[str, list[ObservationAnswer]] = {}
    for window in client.observations.of_session(session["id"]):
        windows.setdefault(window["recommendation"] or "", []).append(window)
    ended = [t for t in client.sessions.list_trials(session["id"]) if t["recommendation"] in windows or t["failed"]]
    rows = [_row(trial, windows.get(trial["recommendation"], []), metric) for trial in ended]
    table = pd.DataFrame(rows, columns=[c for c in TRIALS if c not in ("minutes", "gain", "waiting")])
    table["at"] = pd.to_datetime(table["at"], utc=True)
    return _timed(table).assign(gain=_gains(table, session))[list(TRIALS)]


def _row(trial: TrialAnswer, windows: Sequence[ObservationAnswer], metric: str) -> dict[str, Any]:
    read = (trial["measured"] or {}).get(metric)
    early, told = trial["ended_early"], trial["predictions"].get(metric)
    span = [(w["start"], w["end"]) for w in windows if w["start"] is not None and w["end"] is not None]
    measuring = sum((end - start).total_seconds() for start, end in span) / 60
    return {
        "trial": trial["trial"],
        "origin": (trial["origin"] or "").replace("_", " "),
        "at": max((end for _, end in span), default=pd.NaT),
        "reading": float(read) if isinstance(read, int | float) else np.nan,
        "bound": np.nan if early is None else early["bound"],
        "state": "failed" if trial["failed"] else "ended early" if early else "measured",
        **(dict.fromkeys(("median", "low", "high"), np.nan) if told is None else _ends(told)),
        "changes": len(trial["changes"] or ()),
        "measuring": measuring,
        "changing": max((trial["spent_s"] or 0.0) / 60 - measuring, 0.0),
        "configuration": trial["configuration"] or {},
    }


def _ends(told: Any) -> dict[str, float]:
    return {end: told[end] for end in ("median", "low", "high")}


def _timed(table: pd.DataFrame) -> pd.DataFrame:
    """With the `minutes` since the first window began. A failure that left no window ended with the trial before it."""
    at = table["at"].ffill().bfill()
    ended = (at - at.min()).dt.total_seconds() / 60 + (table.measuring.iloc[0] if len(table) else 0.0)
    waiting = (ended.diff().fillna(0.0) - table.measuring - table.changing).clip(lower=0.0)
    return table.assign(at=at, minutes=ended, waiting=waiting.where(np.arange(len(table)) > 0, 0.0))


def _gains(table: pd.DataFrame, session: SessionAnswer) -> pd.Series:
    baseline = session["baseline"] or {}
    own = [c is not None and all(c.get(n) == v for n, v in baseline.items()) for c in table.configuration]
    level = table.reading[own].mean() if baseline else np.nan
    return 100 * (table.reading / level - 1)


def best_so_far(history: History, table: pd.DataFrame, options: Options, fits: int = FITS) -> pd.DataFrame:
    """A row a place of the session: what it would have handed over after so many trials, by what was measured until
    then. `median`, `low` and `high` are of a *next reading* of that configuration, with 90 %; `best` is the best
    reading of a trial so far. At most `fits` places, the last of which is the last trial; and where more was measured
    after it, one place more, with all of that."""
    known = table[table.reading.notna()]
    places = known.iloc[1:] if len(known) > 1 else known.iloc[:0]
    kept = np.unique(np.linspace(0, max(len(places) - 1, 0), min(fits, len(places))).round().astype(int))
    rows = [
        _handed_over(history, table[table.trial <= place.trial], place.trial, place.minutes, options)
        for place in (places.iloc[i] for i in kept)
    ]
    verified = max((o.window.end for o in history.observations if o.window), default=None)
    if rows and verified is not None and verified > (last := table.iloc[-1])["at"]:
        minutes = last.minutes + (verified - last["at"]).total_seconds() / 60
        rows.append(_handed_over(history, table.assign(at=verified), last.trial + 1, minutes, options))
    columns = ["trial", "minutes", "best", "median", "low", "high"]
    return pd.DataFrame([row for row in rows if row], columns=columns)


def _handed_over(
    history: History, until: pd.DataFrame, trial: float, minutes: float, options: Options
) -> dict[str, float] | None:
    from lutra_models.gp import fit

    model = fit(_until(history, until), rng=np.random.default_rng(0), options=options)
    told = model.best().predictions.get(history.objective.metric)
    if told is None:
        return None
    ends = {"median": told.median, "low": told.low, "high": told.high}
    return {"trial": trial, "minutes": minutes, "best": _best(history, until.reading), **ends}


def _best(history: History, readings: pd.Series) -> float:
    return float(readings.max() if history.objective.goal == "maximize" else readings.min())


def _until(history: History, table: pd.DataFrame) -> History:
    """What was known when the last of these trials had ended."""
    last = table["at"].max().to_pydatetime()
    seen = [o for o in history.observations if o.window is not None and o.window.end <= last]
    return replace(history, observations=tuple(seen), pending=())


def by_origin(table: pd.DataFrame) -> pd.DataFrame:
    """A row a step of the search: how many `trials` it proposed, how many `failed`, its best `gain` over the baseline
    in percent of the objective, and the `minutes` that they took."""
    spent = table.assign(minutes=table.measuring + table.changing + table.waiting, failed=table.state == "failed")
    grouped = spent.groupby("origin", sort=False)
    return grouped.agg(
        trials=("trial", "size"),
        failed=("failed", "sum"),
        least=("gain", "min"),
        most=("gain", "max"),
        minutes=("minutes", "sum"),
    )


def cost(table: pd.DataFrame) -> pd.DataFrame:
    """A row a trial and part of it (measuring, changing and warming up, waiting), with its `minutes`."""
    parts = {"measuring": "measuring", "changing": "change and warm-up", "waiting": "computing and waiting"}
    kept = table.drop(columns="minutes")
    long = kept.melt(["trial", "origin", "state"], list(parts), var_name="part", value_name="minutes")
    return long.assign(part=long.part.map(parts))


def told(table: pd.DataFrame, best: pd.DataFrame) -> str:
    """The session in a sentence or two."""
    whole = float(table[["measuring", "changing", "waiting"]].to_numpy().sum())
    share = float(table.measuring.sum()) / whole if whole else 0.0
    failed, early = (int((table.state == state).sum()) for state in ("failed", "ended early"))
    parts = [f"{counted(len(table), 'trial')} in {_minutes(whole)}, of which {share:.0%} were spent on measuring"]
    parts += [f"{failed} failed"] * bool(failed) + [f"{early} were ended early"] * bool(early)
    if len(best):
        after = best.minutes.iloc[-1] - table.minutes.iloc[-1]
        parts += [f"measurements after them took {_minutes(after)} more"] * bool(
            best.trial.iloc[-1] > table.trial.iloc[-1]
        )
        middle, low, high = best.iloc[-1][["median", "low", "high"]]
        told = [f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}" for value in (middle, low, high)]
        parts.append(f"a next reading of the best so far: {told[0]}, with 90 % from {told[1]} to {told[2]}")
    return "; ".join(parts) + "."


def _minutes(count: float) -> str:
    return f"{count:.1f} minutes" if count < 10 else f"{count:.0f} minutes"


def gains(session: SessionAnswer) -> pd.DataFrame:
    """A row a pair of finalists of the session's verification: the gain of `finalist` `over` another one in percent
    (`median`, `low`, `high`: what three more rounds would come to, with 90 %) and the `readings` behind it."""
    found = session["verification"]
    rows = [
        {
            "finalist": one["name"].replace("_", "-"),
            "over": other.replace("_", "-"),
            **{end: 100 * gain[end] for end in ("median", "low", "high")},
            "readings": len(one["readings"]),
        }
        for one in (found["finalists"] if found else ())
        for other, gain in one["gains"].items()
    ]
    return pd.DataFrame(rows, columns=["finalist", "over", "median", "low", "high", "readings"])


def leaned(client: Client, session: SessionAnswer) -> pd.DataFrame:
    """A row a trial that leaned on past workloads, of the newest 200 recommendations: the weightiest three of them with
    their weights (`past`), how far they are believed together (`weight`, from 0 to 1), and the settings that would have
    another value `without` them."""
    made = islice(client.recommendations.list(session["database"], limit=100), 200)
    rows = [
        {
            "trial": r["trial"],
            "past": ", ".join(f"{w['name'] or w['workload']} {w['weight']:.2f}" for w in told["workloads"][:3]),
            "weight": sum(w["weight"] for w in told["workloads"]),
            "without": ", ".join(told["differs"]),
        }
        for r in made
        if r["session"] == session["id"] and r["trial"] is not None and (told := r["leans_on"]) is not None
    ]
    return pd.DataFrame(rows, columns=["trial", "past", "weight", "without"]).set_index("trial").sort_index()


def level(history: History) -> float | None:
    """The mean reading of the baseline; None where it was not measured."""
    base = history.reference
    read = [v for c, v in history.values(history.objective.metric) if base is not None and not base.changes_to(c)]
    return fmean(read) if read else None
