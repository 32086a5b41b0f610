"""A candidate's comparison with the serving versionby each source, the changes that it judges, and the decision of the
rule.

A source judges what it can see. Forecasts do not show the course of a search, and a simulated session has no drift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lutra_models.scores.comparison import LEAST_TOLD, MOST_NEEDED, Comparison, compared

SourceName = Literal["past_sessions", "shadow", "played", "played_live"]

FORECASTS_JUDGE = frozenset({"targets", "surrogate", "drift", "calibration", "transfer"})
PLAYS_JUDGE = FORECASTS_JUDGE - {"drift"} | {"search"}


@dataclass(frozen=True)
class Source:
    """The source of differences. `measure` is the number of a session that is compared; `judges` are the groups of
    options whose changes it shows.
    """

    name: SourceName
    measure: str
    more_is_better: bool
    judges: frozenset[str]
    what: str


SOURCES = (
    Source("past_sessions", "log_score", True, FORECASTS_JUDGE, "forecasts of past sessions, by log score"),
    Source("shadow", "log_score", True, FORECASTS_JUDGE, "forecasts in the shadow, by log score"),
    Source("played", "missed", False, PLAYS_JUDGE | {"start"}, "simulated lab sessions, by the gap to the optimum"),
    Source(
        "played_live",
        "missed_live",
        False,
        PLAYS_JUDGE | {"safety"},
        "simulated live sessions, by the gap to the optimum",
    ),
)


@dataclass(frozen=True)
class Judged:
    """A source's verdict on a candidate."""

    source: Source
    comparison: Comparison

    @property
    def sentence(self) -> str:
        return f"{self.source.what}: {_told(self.comparison)}"


@dataclass(frozen=True)
class Decision:
    """Whether the rule promotes a candidate, and why. Of the changed rooms in `not_judged` no source says anything."""

    promotes: bool
    why: str
    not_judged: tuple[str, ...] = ()


def of_cards(candidate: Mapping[str, Any] | None, serving: Mapping[str, Any] | None) -> dict[SourceName, list[float]]:
    """The differences of two scorecards by source, over sessions that both scored with the same content."""
    rows = _rows(serving)
    pairs = [(mine, rows[key]) for key, mine in _rows(candidate).items() if key in rows]
    return {s.name: _differences(s, pairs) for s in SOURCES if s.name != "shadow"}


def judged(differences: Mapping[SourceName, Sequence[float]]) -> tuple[Judged, ...]:
    return tuple(Judged(source, compared(differences.get(source.name, ()))) for source in SOURCES)


def decided(changed: Sequence[str], found: Sequence[Judged]) -> Decision:
    """Each changed room has to be better by a source that judges it, and no source may say worse."""
    if not changed:
        return Decision(False, "it computes what the champion computes")
    worse = [j for j in found if j.comparison.verdict == "worse"]
    known = [j for j in found if j.comparison.sessions]
    not_judged = tuple(r for r in changed if not any(r in j.source.judges for j in known))
    better = [j for j in known if j.comparison.verdict == "better"]
    open_ = [r for r in changed if r not in not_judged and not any(r in j.source.judges for j in better)]
    if worse:
        return Decision(False, "; ".join(j.sentence for j in worse), not_judged)
    if not_judged:
        return Decision(False, f"not judged: {', '.join(not_judged)}", not_judged)
    if open_:
        telling = [j.sentence for j in known if any(r in j.source.judges for r in open_)]
        return Decision(False, f"{', '.join(open_)}: {'; '.join(telling)}")
    return Decision(True, "; ".join(j.sentence for j in better))


def _rows(card: Mapping[str, Any] | None) -> dict[tuple[str, str], Mapping[str, Any]]:
    rows = [] if card is None else card["by_session"]
    return {(row["session"], row["key"]): row for row in rows if row.get("key")}


def _differences(source: Source, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> list[float]:
    values = [(mine.get(source.measure), theirs.get(source.measure)) for mine, theirs in pairs]
    sign = 1.0 if source.more_is_better else -1.0
    return [sign * (mine - theirs) for mine, theirs in values if mine is not None and theirs is not None]


def _told(c: Comparison) -> str:
    if c.mean is None:
        return "not judged"
    sessions = f"{c.sessions} session{'s' if c.sessions > 1 else ''}"
    if c.low is None or c.high is None:
        return f"{c.mean:+.3f} over {sessions}, too few to decide; {_needed(c)}"
    told = f"{c.verdict}, {c.mean:+.3f} ({c.low:+.3f} to {c.high:+.3f}) over {sessions}"
    return told if c.verdict != "undecided" else f"{told}; {_needed(c)}"


def _needed(c: Comparison) -> str:
    if c.sessions < LEAST_TOLD:
        return f"needs at least {LEAST_TOLD - c.sessions} more sessions to decide"
    if c.needed is None:
        return f"{MOST_NEEDED:,} more might not be enough"
    return f"needs some {c.needed} more sessions to decide"
