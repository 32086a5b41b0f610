"""A model version's scorecard, from the outcome of each past session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

LEAST_TRIALS = 6
"""The number of measured trials from which a session can score a model."""
SHOWN = ("held_80", "width_80", "held_90", "width_90", "log_score", "error", "rank_correlation", "regret")
PLAYED = ("missed", "missed_live")
GAINED = ("log_score", "rank_correlation", "regret")


def scorecard(sessions: Sequence[Mapping[str, Any]], conformance: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over the sessions with equal weights; None if no session has a value.

    `sessions` are answers of `gp.scoring.score_session` with `session`, the id, `key`, a digest of what was measured in
    it, and `played`, an answer of `gp.playing.played`; or why it `failed` in their place. `gain_from_past` is the
    improvement of each number by the past workloads of other sessions: positive is better.
    """
    scored = [s for s in sessions if "failed" not in s]
    told = {name: _mean([s["served"].get(name) for s in scored]) for name in SHOWN}
    told |= {name: _mean([s["played"][name] for s in scored]) for name in PLAYED}
    gains = {name: _mean([_gain(s, name) for s in scored]) for name in GAINED}
    return {
        **told,
        "sessions": len(scored),
        "forecasts": sum(s["served"]["n"] for s in scored),
        "failed": len(sessions) - len(scored),
        "gain_from_past": gains,
        "leaning": sum(s["alone"] is not None for s in scored),
        "conformance": list(conformance),
        "by_session": [{"session": s["session"], **_of(s)} for s in sessions],
    }


def _of(session: Mapping[str, Any]) -> dict[str, Any]:
    if "failed" in session:
        return {"failed": session["failed"]}
    return {"key": session["key"], **{n: session["served"].get(n) for n in ("n", *SHOWN)}, **session["played"]}


def _gain(session: Mapping[str, Any], name: str) -> float | None:
    """With the past against without it. Of regret less is better."""
    if session["alone"] is None:
        return None
    with_past, without = session["served"].get(name), session["alone"].get(name)
    if with_past is None or without is None:
        return None
    return float(without - with_past if name == "regret" else with_past - without)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return fmean(known) if known else None
