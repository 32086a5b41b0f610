"""A summary as plain text, in lines for a terminal and for a notice. A text from outside stays on its line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lutra_models.errors import printable

from lutra_service.app.observations.week_changes import LISTED

Document = Mapping[str, Any]
WIDTH = 100
SHOWN = 8
"""The most items of a list; the rest is counted."""
FIRST = 3
"""The databases whose load a notice shows."""
LONGEST_LINE = 180
"""The most characters of a line of a notice."""
COUNTED: Mapping[str, str] = {"proposals": "proposals that wait for a decision", "silent": "agents that were silent"}
"""By list, the words before its length in a notice."""


def lines(summary: Document) -> Iterator[str]:
    yield from _head(summary)
    yield from _section("p99 and QPS", [_load(d) for d in summary["databases"]], "no database yet")
    yield from _section(f"changes: {_counts(summary['counts'])}", [_event(e) for e in summary["changes"]])
    yield from _section("gains", _gains(summary["gains"]))
    yield from _section("changed outside Lutra", [_event(e) for e in summary["outside"]])
    yield from _section("guards that fired", [_event(e) for e in summary["guards"]])
    yield from _section("findings now", [_finding(f) for f in summary["findings"]], "none")
    yield from _section("findings that are gone", [_gone(f) for f in summary["gone"]])
    yield from _section("proposals that wait for a decision", [_proposal(p) for p in summary["proposals"]])
    yield from _section("sessions", [_session(s) for s in summary["sessions"]])
    yield from _section("agents that were silent", [_silent(s) for s in summary["silent"]])


def notice(summary: Document) -> str:
    """A summary in at most eleven lines, with the command that prints all of it."""
    more = summary["databases_in_all"] - FIRST
    shown = [
        *_head(summary),
        *(_load(d) for d in summary["databases"][:FIRST]),
        *([_count(more, "more database")] if more > 0 else []),
        f"changes: {_counts(summary['counts'])}",
        *_gains(summary["gains"]),
        *(f"{words}: {_length(summary[field])}" for field, words in COUNTED.items() if summary[field]),
        "details: `lutra summary`",
    ]
    return "\n".join(_cut(printable(line)) for line in shown)


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def _head(summary: Document) -> list[str]:
    days = summary["days"]
    before = "the day before" if days == 1 else f"the {days} days before"
    return [
        f"{_day(summary['since'])} to {_day(summary['until'])} (UTC), against {before}",
        f"{_count(summary['databases_in_all'], 'database')}; {_harm(summary['findings_by_kind'])}",
    ]


def _length(items: Sequence[object]) -> str:
    return f"{len(items)} or more" if len(items) == LISTED else str(len(items))


def _section(title: str, items: Sequence[str], empty: str = "") -> Iterator[str]:
    """Nothing for an empty list without words for that."""
    if not items and not empty and not title.startswith("changes"):
        return
    yield ""
    yield title
    for item in items[:SHOWN] or ([empty] if empty else []):
        yield from textwrap.wrap(
            printable(item), WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
    if len(items) > SHOWN:
        yield f"  and {len(items) - SHOWN} more"


def _load(found: Document) -> str:
    now, was, compared = found["now"], found["before"], found["compared"]
    if now["p99_ms"] is None and now["qps"] is None:
        return f"{found['name']}: nothing was measured"
    p99 = f"p99 {_ms(now['p99_ms'])} (before {_ms(was['p99_ms'])})"
    worst = "" if now["worst_p99_ms"] is None else f", worst hour {_ms(now['worst_p99_ms'])}"
    rate = f"QPS {_rate(now['qps'])} (before {_rate(was['qps'])})"
    return f"{found['name']}: {p99}{worst}, {rate}; {comparison(compared)}"


def comparison(compared: Document | None) -> str:
    """The change at comparable load, or that these are the plain figures."""
    if compared is None or compared["ratio"] is None:
        return "plain figures, not at comparable load"
    span = f"{_percent(compared['low'])} to {_percent(compared['high'])}"
    verdict = "no difference seen" if compared["verdict"] == "no_difference_seen" else _percent(compared["ratio"])
    return f"p99 at comparable load: {verdict} ({compared['level']:.0%} interval: {span})"


def _gains(found: Document) -> list[str]:
    """Empty before the first gain is reported."""
    if not found["reported"]:
        return []
    reported = f"{_count(found['reported'], 'gain')} reported in the last 100 days"
    if found["share"] is None:
        return [f"{reported}; none was judged again yet"]
    return [f"{reported}: {found['holds']} of {found['holds'] + found['decayed']} that were judged again still hold"]


def _event(found: Document) -> str:
    by = f" by {found['by']}" if found["by"] else ""
    change = f": {found['change']}" if found["change"] else ""
    why = f" ({found['why']})" if found["why"] else ""
    effect = f"; {found['effect']['sentence']}" if found["effect"] else ""
    return f"{_minute(found['at'])} {found['database']} {found['what']}{by}{change}{why}{effect}"


def _finding(found: Document) -> str:
    return f"{found['strength']:.2f} {found['kind']} {found['name']} on {found['database']}: {found['sentence']}"


def _gone(found: Document) -> str:
    return f"{found['kind']} {found['name']} on {found['database']}, gone since {_minute(found['gone_at'])}"


def _proposal(found: Document) -> str:
    since = f"{found['database']}, since {_minute(found['since'])}"
    return f"{since}: {found['change']} (lutra show {found['recommendation']})"


def _session(found: Document) -> str:
    return f"{found['database']} {found['state']}: {found['message'] or 'no message yet'}"


def _silent(found: Document) -> str:
    last = found["last_report_at"]
    newest = "no agent has reported yet" if last is None else f"last report {_minute(last)}"
    return f"{found['database']}: {_count(found['hours'], 'hour')} without a window; {newest}"


def _harm(kinds: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    return f"findings: {counts}" if counts else "no harmful findings"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "none"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _percent(ratio: float) -> str:
    percent = f"{100 * abs(ratio - 1):.0f} %"
    return percent if percent == "0 %" else f"{percent} {'higher' if ratio > 1 else 'lower'}"


def _ms(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g} ms" if value < 1000 else f"{value:,.0f} ms"


def _rate(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d}"


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%m-%d %H:%M}"
