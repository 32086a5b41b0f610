"""A recommendation and a session as people read them: lines of text, without anything that a terminal would obey."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lutra_models.errors import printable

from lutra_client.commands.terminal import minute

if TYPE_CHECKING:
    from lutra_client.schemas import (
        AcceptedAnswer,
        ChangeAnswer,
        DatabaseAnswer,
        EpisodeAnswer,
        FailureAnswer,
        PredictionAnswer,
        PredictionsAnswer,
        ReasonAnswer,
        RecommendationAnswer,
        SessionAnswer,
        ShareAnswer,
        SymptomsAnswer,
    )

WIDTH = 100
SHARES = (0.8, 0.95)
"""The share of the predicted gain for which the number of settings is shown."""


TO_COME = ("proposed", "approved")


def recommendation(found: RecommendationAnswer, now: Mapping[str, float] | None = None) -> str:
    """The changes with their reasons, the prediction beside the readings `now`, the arguments against it; then its
    outcome.
    """
    return "\n".join(_recommendation(found, now or {}))


def session(found: SessionAnswer) -> str:
    """Its state, its objective, and its message."""
    goal = f"{found['objective']['goal']} {found['objective']['metric']}"
    trials = f"{found['trials_done']} of {found['max_trials']} trials"
    lines = [printable(f"{found['id']}  {found['state']}: {goal}, {found['effective_mode']}, {trials}")]
    if found["mode"] != found["effective_mode"]:
        lines += _paragraph(
            f"{found['mode']} was requested, but the agent's newest report allows {found['effective_mode']}: set "
            f'mode = "{found["mode"]}" in [agent] of its file and restart it; the session then uses that mode',
            "  ",
        )
    leaning = found["leaning"]
    if leaning is not None:
        lines += _paragraph(leaning["sentence"], "  ")
    return "\n".join([*lines, *_lines(found["message"], "  ")])


def findings(document: SymptomsAnswer) -> str:
    """The findings, the most harmful first, with their cures; accepted risks last."""
    from lutra_models.symptoms.listed import lines

    told = [_paragraph(line.strip(), " " * (len(line) - len(line.lstrip()))) or [""] for line in lines(document)]
    return "\n".join(line for paragraph in told for line in paragraph)


def episode(found: EpisodeAnswer) -> str:
    """Since when it showed, when it went, and what it said last."""
    ended = "shows" if found["gone_at"] is None else f"gone {minute(found['gone_at'])}"
    head = f"{minute(found['since'])}, {ended}  {found['kind']} {found['name']}: {found['sentence']}"
    return "\n".join(_paragraph(head))


def accepted(found: AcceptedAnswer) -> str:
    """Which risk is taken, until when, by whom and why."""
    head = f"{found['kind']} {found['name']}  accepted by {found['accepted_by']} until {minute(found['until'])}"
    return "\n".join(_paragraph(f"{head}: {found['because']}"))


def predictions(found: PredictionsAnswer) -> str:
    """The answer to a what-if question: changes, their predicted effect, the memory, and the reason for a refusal."""
    return "\n".join(_what_if(found))


def _what_if(found: PredictionsAnswer) -> Iterator[str]:
    for change in found["changes"]:
        yield from _change(change, None)
    if not found["changes"]:
        yield "these settings are already active"
    for line in _predictions(found["predictions"]):
        yield from _paragraph(f"expected: {line}")
    if not found["predictions"]:
        yield "no model has seen any of these settings: nothing is predicted"
    for unknown in found["not_known"]:
        yield from _paragraph(f"not predicted: {unknown['setting']}: {unknown['meaning']}")
    memory = found["memory"]
    yield f"memory: {memory['total_bytes'] / 2**30:.1f} GiB of {memory['limit_bytes'] / 2**30:.1f} GiB"
    for warning in found["warnings"]:
        yield from _paragraph(f"warning: {warning}")
    if found["refusal"] is not None:
        yield from _paragraph(f"would be refused: {found['refusal']['message']}")


def database(found: DatabaseAnswer) -> str:
    """Its id, name and engine, and since when it is retired."""
    since = f", retired at {minute(found['retired_at'])} (UTC)" if found["retired_at"] else ""
    return printable(f"{found['id']}  {found['name']}: {found['engine']}{since}")


def _recommendation(found: RecommendationAnswer, now: Mapping[str, float]) -> Iterator[str]:
    yield printable(f"{found['id']}  {found['state']}" + (f" ({found['origin']})" if found["origin"] else ""))
    looked_at = found["looked_at"]
    if looked_at is not None:
        yield from _lines(looked_at["sentence"])
    reasons = {r["setting"]: r for r in found["reasons"] or ()}
    order = {name: place for place, name in enumerate(reasons)}
    for change in sorted(found["changes"] or (), key=lambda c: order.get(c["setting"], len(order))):
        yield from _change(change, reasons.get(change["setting"]))
    if found["state"] in TO_COME:
        yield from _executed(found["changes"] or ())
    yield from _expected(found, now)
    if found["leans_on"] is not None:
        yield from _paragraph(found["leans_on"]["sentence"])
    for warning in found["warnings"] or ():
        yield from _paragraph(f"warning: {warning}")
    for note in () if looked_at is None else looked_at["notes"]:
        yield from _paragraph(f"note: {note.removeprefix('Note: ')}")
    yield from _became(found)


def _change(change: ChangeAnswer, reason: ReasonAnswer | None) -> Iterator[str]:
    line = f"  {change['setting']}  {change['before_text']} → {change['after_text']}  ({change['applies']})"
    yield printable(line)
    if reason is not None:
        yield from _paragraph(reason["sentence"], "      ")
        if reason.get("against"):
            yield from _paragraph(f"against: {reason['against']}", "      ")


def _executed(changes: Iterable[ChangeAnswer]) -> Iterator[str]:
    """The statements and lines, for whoever makes the change by hand or wants to see what the agent does."""
    kept = [(change["applies"], change["do_steps"]) for change in changes]
    from lutra_models.catalog.statements import Step, to_paste

    steps = [Step("", step["text"], step["file"], step["section"]) for _, of_one in kept for step in of_one]
    if steps:
        yield "statements:"
        yield from (f"  {printable(line)}" for line in to_paste(steps))
    for applies in ("restart", "reboot"):
        if steps and any(applies == needed for needed, _ in kept):
            yield f"  # then a {applies}"


def _expected(found: RecommendationAnswer, now: Mapping[str, float]) -> Iterator[str]:
    if found["predictions"]:
        yield from _paragraph("expected: " + "; ".join(_predictions(found["predictions"])))
        measured = [f"{metric} {now[metric]:,.4g}" for metric in found["predictions"] if metric in now]
        if measured:
            yield from _paragraph(f"measured now: {'; '.join(measured)} (medians of the newest windows)")
    shares = list(_shares(found["curve"] or ()))
    if shares and found["changes"]:
        yield from _paragraph("of that gain: " + "; ".join(shares))
    memory = found["memory"]
    if memory is not None and found["changes"]:
        yield f"memory: {memory['total_bytes'] / 2**30:.1f} GiB of {memory['limit_bytes'] / 2**30:.1f} GiB"


def _predictions(by_metric: Mapping[str, PredictionAnswer]) -> Iterator[str]:
    for metric, found in by_metric.items():
        far = ", extrapolated" if found["far"] else ""
        span = f"{found['low']:,.4g} to {found['high']:,.4g}, {found['level']:.0%}"
        yield f"{metric} {found['median']:,.4g} ({span}{far})"


def _shares(curve: Sequence[ShareAnswer]) -> Iterator[str]:
    """Of fewer settings than all, and where the model tells their share from none: elsewhere it is a guess."""
    for wanted in SHARES:
        first = next((at for at, point in enumerate(curve[:-1]) if point["share"] >= wanted and point["low"] > 0), None)
        if first is not None:
            added = [name for point in curve[: first + 1] for name in point["added"]]
            yield f"{curve[first]['share']:.0%} by {len(added)} of the settings ({', '.join(added)})"


def _became(found: RecommendationAnswer) -> Iterator[str]:
    told = {name: found[name] for name in ("waits", "failed", "error", "reason")}
    if _holds_its_reason(found["failure"]):
        told["reason"] = None
    if told["error"]:
        told["failed"] = None
    for name, said in told.items():
        if said:
            yield from _paragraph(f"{name}: {said}")
    judgement = found["judgement"]
    if judgement is not None:
        yield from _paragraph(judgement["sentence"])
        yield from _paragraph(judgement.get("follows", ""))
        for look in judgement.get("lasting", ()):
            yield from _paragraph(f"after {span_of(look['hours'])}: {look['sentence']}")


def span_of(hours: float) -> str:
    """As in "6 h" or "3 days"."""
    days = round(hours / 24)
    return f"{hours:.0f} h" if days < 1 else f"{days} day{'' if days == 1 else 's'}"


def _holds_its_reason(failure: FailureAnswer | None) -> bool:
    """Whether the reason is a part of its message: of an agent, and of a rollback on the host."""
    return failure is not None and (failure["by"] == "agent" or failure["code"] == "rolled_back")


def _lines(text: str, indent: str = "") -> Iterator[str]:
    """Each line of the text as a paragraph."""
    for line in text.split("\n"):
        yield from _paragraph(line, indent)


def _paragraph(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        printable(text), WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )
