"""A recommendation and a session as people read them: lines of text, without anything that a terminal would obey."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

from lutra_models.errors import printable

from lutra_client.schemas import (
    ChangeAnswer,
    PredictionAnswer,
    ReasonAnswer,
    RecommendationAnswer,
    SessionAnswer,
    ShareAnswer,
)

WIDTH = 100
SHARES = (0.8, 0.95)
"""Of the predicted gain: how many settings give so much is shown."""


def recommendation(found: RecommendationAnswer) -> str:
    """What changes, why, what it should give and what speaks against it; then what became of it."""
    return "\n".join(_recommendation(found))


def session(found: SessionAnswer) -> str:
    """Its state, what it is about, and what it says of itself."""
    goal = f"{found['objective']['goal']} {found['objective']['metric']}"
    trials = f"{found['trials_done']} of {found['max_trials']} trials"
    lines = [f"{found['id']}  {found['state']}: {goal}, {found['effective_mode']}, {trials}"]
    return "\n".join([*lines, *_paragraph(found["message"], "  ")])


def _recommendation(found: RecommendationAnswer) -> Iterator[str]:
    yield f"{found['id']}  {found['state']}" + (f" ({found['origin']})" if found["origin"] else "")
    looked_at = found["looked_at"]
    if looked_at is not None:
        yield from _paragraph(looked_at["sentence"])
    reasons = {r["setting"]: r for r in found["reasons"] or ()}
    for change in found["changes"] or ():
        yield from _change(change, reasons.get(change["setting"]))
    yield from _expected(found)
    for warning in found["warnings"] or ():
        yield from _paragraph(f"warning: {warning}")
    for note in () if looked_at is None else looked_at["notes"]:
        yield from _paragraph(f"note: {note}")
    yield from _became(found)


def _change(change: ChangeAnswer, reason: ReasonAnswer | None) -> Iterator[str]:
    line = f"  {change['setting']}  {change['before_text']} → {change['after_text']}  ({change['applies']})"
    yield printable(line)
    if reason is not None:
        yield from _paragraph(reason["sentence"], "      ")
        if reason.get("against"):
            yield from _paragraph(f"against: {reason['against']}", "      ")


def _expected(found: RecommendationAnswer) -> Iterator[str]:
    if found["predictions"]:
        yield from _paragraph("expected: " + "; ".join(_predictions(found["predictions"])))
    if found["curve"]:
        yield from _paragraph("of that gain: " + "; ".join(_shares(found["curve"])))
    memory = found["memory"]
    if memory is not None and found["changes"]:
        yield f"memory: {memory['total_bytes'] / 2**30:.1f} GiB of {memory['limit_bytes'] / 2**30:.1f} GiB"


def _predictions(by_metric: Mapping[str, PredictionAnswer]) -> Iterator[str]:
    for metric, found in by_metric.items():
        far = ", far from all that was measured" if found["far"] else ""
        span = f"{found['low']:,.4g} to {found['high']:,.4g}, {found['level']:.0%}"
        yield f"{metric} {found['median']:,.4g} ({span}{far})"


def _shares(curve: Iterable[ShareAnswer]) -> Iterator[str]:
    rising = list(curve)
    for wanted in SHARES:
        first = next((point for point in rising if point["share"] >= wanted), None)
        if first is not None:
            added = [name for point in rising[: rising.index(first) + 1] for name in point["added"]]
            yield f"{first['share']:.0%} by {len(added)} of the settings ({', '.join(added)})"


def _became(found: RecommendationAnswer) -> Iterator[str]:
    for name in ("waits", "failed", "error", "reason"):
        said = found[name]
        if said:
            yield from _paragraph(f"{name}: {said}")
    judgement = found["judgement"]
    if judgement is not None:
        yield from _paragraph(judgement["sentence"])
        yield from _paragraph(judgement.get("follows", ""))


def _paragraph(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        printable(text), WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )
