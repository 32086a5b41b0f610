"""A summary as one page for a browser or a mail: it loads nothing from the network, runs no script, and escapes texts
from databases and people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib import resources

from lutra_models.errors import printable

from lutra_client.commands.terminal import minute
from lutra_client.schemas import (
    ComparisonAnswer,
    DatabaseLoadAnswer,
    HappeningAnswer,
    LoadAnswer,
    SummaryAnswer,
    SummaryFindingAnswer,
)

OPEN = 40
"""The databases in the first table; a click shows the others."""
WIDE, HIGH = 150, 34
"""The size of a small chart of days, in pixels."""
SPAN = 190
"""The width of the chart of an interval. No change is in its middle."""
MOST = math.log(2)
"""The change at the edge of that chart: twice as much, or half."""
LOADED = ("database", "p99, two spans by day", "p99", "before", "at comparable load", "QPS by day", "QPS", "before")


def page(found: SummaryAnswer) -> str:
    """HTML in UTF-8."""
    title = f"Lutra: {found['since']:%Y-%m-%d} to {found['until']:%Y-%m-%d}"
    style = resources.files(__package__).joinpath("summary.css").read_text(encoding="utf-8")
    before = "the day" if found["days"] == 1 else f"the {found['days']} days"
    body = "\n".join(_parts(found))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>\n'
        f"<body><h1>{_text(title)}</h1>\n<small>against {before} before; made at {minute(found['until'])}, "
        f"all times in UTC</small>\n{body}\n</body></html>\n"
    )


def _parts(found: SummaryAnswer) -> Iterator[str]:
    yield _tiles(found)
    yield "<h2>p99 and QPS</h2>"
    yield _loads(found["databases"])
    effects = [e for e in found["changes"] if e["effect"] is not None]
    yield from _section("Effects of the changes", [_effect(e) for e in effects])
    yield from _section("Changes", [_event(e) for e in found["changes"]], ("when", "database", "what", "by", "why"))
    yield from _section("Changed outside Lutra", [_event(e) for e in found["outside"]])
    yield from _section("Guards that fired", [_event(e) for e in found["guards"]])
    if found["findings"]:
        yield "<h2>Findings, the most harmful first</h2>"
        yield from map(_finding, found["findings"])
    gone = [(f["database"], f"{f['kind']} {f['name']}", f"gone since {minute(f['gone_at'])}") for f in found["gone"]]
    yield from _section("Findings that are gone", _cells(gone))
    waiting = [(minute(p["since"]), p["database"], p["change"], p["recommendation"]) for p in found["proposals"]]
    yield from _section("Proposals that wait for a decision", _cells(waiting))
    yield from _section("Sessions", _cells((s["database"], s["state"], s["message"]) for s in found["sessions"]))
    away = [(s["database"], f"{s['hours']} h without a window", _last(s["last_report_at"])) for s in found["silent"]]
    yield from _section("Agents that were silent", _cells(away))


def _last(moment: object) -> str:
    return "no agent has reported yet" if moment is None else f"last report {moment:%Y-%m-%d %H:%M}"


def _tiles(found: SummaryAnswer) -> str:
    counts, kinds, gains = found["counts"], found["findings_by_kind"], found["gains"]
    judged = gains["holds"] + gains["decayed"]
    severe = kinds.get("outage", 0) + kinds.get("danger", 0)
    tiles = (
        (f"{found['databases_in_all']:,}", "databases"),
        (f"{counts.get('applied', 0):,}", "changes applied"),
        (counts.get("reverted", 0), "reverted"),
        (f"{gains['holds']} of {judged}" if judged else "–", "reported gains still hold"),
        (counts.get("guard fired", 0), "guards fired"),
        (severe, "outages and dangers"),
        (sum(kinds.values()) - severe, "other findings"),
        (len(found["proposals"]), "wait for a decision"),
        (len(found["silent"]), "silent agents"),
    )
    return f'<div class="tiles">{"".join(f"<div><b>{n}</b>{_text(what)}</div>" for n, what in tiles)}</div>'


def _loads(found: Sequence[DatabaseLoadAnswer]) -> str:
    if not found:
        return "<p>No database yet.</p>"
    table = _table([_load(d) for d in found[:OPEN]], LOADED)
    rest = found[OPEN:]
    more = f"<details><summary>{len(rest)} more</summary>{_table(map(_load, rest), LOADED)}</details>" if rest else ""
    return table + more


def _load(found: DatabaseLoadAnswer) -> Iterator[str]:
    now, was = found["now"], found["before"]
    yield f"<td>{_text(found['name'])}<br><small>{_text(found['engine'])}</small></td>"
    yield f"<td>{_days(found['daily'], lambda day: day['p99_ms'])}</td>"
    yield f'<td class="number">{_ms(now["p99_ms"])}{_worst(now)}</td><td class="number">{_ms(was["p99_ms"])}</td>'
    yield f"<td>{_interval(found['compared'])}</td>"
    yield f"<td>{_days(found['daily'], lambda day: day['qps'])}</td>"
    yield f'<td class="number">{_rate(now["qps"])}</td><td class="number">{_rate(was["qps"])}</td>'


def _worst(load: LoadAnswer) -> str:
    worst = load["worst_p99_ms"]
    return "" if worst is None else f"<br><small>worst hour {_ms(worst)}</small>"


def _days(days: Sequence[LoadAnswer], of: Callable[[LoadAnswer], float | None]) -> str:
    """A line from day to day from 0 up: grey the span before, coloured the requested one; a gap is a day without."""
    values = [of(day) for day in days]
    most = max((v for v in values if v is not None), default=0.0)
    if not most:
        return '<span class="soft">–</span>'
    step, half = (WIDE - 8) / max(len(days) - 1, 1), len(days) // 2
    points = [None if v is None else (4 + at * step, HIGH - 3 - (HIGH - 8) * v / most) for at, v in enumerate(values)]
    lines = f"{_line(points[: half + 1], 'was')}{_line(points[half:], 'now')}"
    told = f"{_number(values[half:])} after {_number(values[:half])}"
    return f'<svg width="{WIDE}" height="{HIGH}" role="img" aria-label="{_text(told)}">{lines}</svg>'


def _line(points: Iterable[tuple[float, float] | None], kind: str) -> str:
    """A point without neighbours is a short line."""
    parts: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if point is None:
            parts.append([])
        else:
            parts[-1].append(point)
    told = (part if len(part) > 1 else [part[0], (part[0][0] + 2, part[0][1])] for part in parts if part)
    path = " ".join("M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in part) for part in told)
    return f'<path class="{kind}" d="{path}"/>' if path else ""


def _number(values: Sequence[float | None]) -> str:
    known = [v for v in values if v is not None]
    return f"{sum(known) / len(known):.3g}" if known else "unknown"


def _interval(found: ComparisonAnswer | None) -> str:
    """The interval of the change around the line of no change, and its words."""
    if found is None or found["ratio"] is None or found["low"] is None or found["high"] is None:
        return "<small>plain figures</small>" if found is None else "<small>too little at comparable load</small>"
    kind = {"better": "good", "worse": "bad"}.get(found["verdict"], "")
    low, ratio, high = (_place(found[end]) for end in ("low", "ratio", "high"))
    lines = (
        f'<line class="zero" x1="{SPAN / 2}" y1="0" x2="{SPAN / 2}" y2="16"/>'
        f'<line class="span {kind}" x1="{low:.1f}" y1="8" x2="{high:.1f}" y2="8"/>'
        f'<circle class="dot" cx="{ratio:.1f}" cy="8" r="2.5"/>'
    )
    told = f"{_percent(found['ratio'])} <small>({_percent(found['low'])} to {_percent(found['high'])})</small>"
    return f'<svg width="{SPAN}" height="16">{lines}</svg><span class="{kind}">{told}</span>'


def _place(ratio: float | None) -> float:
    return SPAN / 2 * (1 + max(-0.97, min(0.97, math.log(ratio or 1.0) / MOST)))


def _effect(found: HappeningAnswer) -> Iterator[str]:
    effect = found["effect"]
    yield f'<td class="when">{minute(found["at"])}</td><td>{_text(found["database"])}</td>'
    yield f"<td>{_text(found['change'])}</td><td>{_interval(effect)}</td>"
    yield f"<td>{_text('' if effect is None else effect['sentence'])}</td>"


def _event(found: HappeningAnswer) -> Iterator[str]:
    kind = ' class="bad"' if found["what"] in ("reverted", "failed", "guard fired") else ""
    yield f'<td class="when">{minute(found["at"])}</td><td>{_text(found["database"])}</td>'
    yield f"<td><span{kind}>{_text(found['what'])}</span> {_text(found['change'])}</td>"
    yield f"<td>{_text(found['by'])}</td><td>{_text(found['why'])}</td>"


def _finding(found: SummaryFindingAnswer) -> str:
    head = f"<b>{found['kind']}</b> {_text(found['name'])} on {_text(found['database'])}"
    since = f"<small>strength {found['strength']:.2f}, since {minute(found['since'])}</small>"
    return f'<article class="{found["kind"]}">{head} {since}<p>{_text(found["sentence"])}</p></article>'


def _section(title: str, rows: Sequence[Iterable[str]], header: Sequence[str] = ()) -> Iterator[str]:
    """Nothing without rows."""
    if rows:
        yield f"<h2>{title}</h2>"
        yield _table(rows, header)


def _cells(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    return [[f"<td>{_text(cell)}</td>" for cell in row] for row in rows]


def _table(rows: Iterable[Iterable[str]], header: Sequence[str] = ()) -> str:
    head = f"<tr>{''.join(f'<th>{name}</th>' for name in header)}</tr>" if header else ""
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<div class="scroll"><table>{head}{body}</table></div>'


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.0f} %"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g} ms" if value < 1000 else f"{value:,.0f} ms"


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


def _text(text: object) -> str:
    return escape(printable(str(text)))
