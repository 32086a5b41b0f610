"""The document as one page for a colleague: it loads nothing from the network, runs no script, and escapes a server's
text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from importlib import resources
from typing import Any

from lutra_models.errors import printable

from lutra_agent.commands.look.told import server_lines, size

Document = Mapping[str, Any]


def page(document: Document, at: datetime) -> str:
    """HTML in UTF-8."""
    server = document["server"]
    title = f"{server['engine']} {server['version'] or ''} at {server['where']}"
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join(_parts(document))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        f"<style>{style}</style></head>\n<body><h1>{_text(title)}</h1>\n<p><small>measured on "
        f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC; nothing was changed</small></p>\n{body}\n</body></html>\n"
    )


def _parts(document: Document) -> Iterator[str]:
    found = document["findings"]
    yield f"<p>{'<br>'.join(map(_text, server_lines(document)))}</p>"
    yield f"<h2>Findings in {found['seconds']:.0f} s, the most harmful first</h2>"
    yield from map(_finding, found["symptoms"])
    if not found["symptoms"]:
        yield "<p>No finding among the symptoms that could be judged.</p>"
    if document["settings"]:
        yield "<h2>Settings far from the rule for this hardware</h2>"
    for setting in document["settings"]:
        against = f"<br><small>against it: {_text(setting['against'])}</small>" if setting["against"] else ""
        yield f"<article><p>{_text(setting['reason'])}{against}</p>{_pre(setting['statements'])}</article>"
    if document["deliberate"]:
        yield "<h2>Set on purpose, and not changed</h2>"
        yield _table((d["setting"], d["value"], d["source"]) for d in document["deliberate"])
    yield from _memory(document["memory"])
    if document["unknown"]:
        yield "<h2>Not judged, which does not mean that nothing is wrong</h2>"
        yield _table((unknown["why"], ", ".join(unknown["names"])) for unknown in document["unknown"])


def _finding(symptom: Document) -> str:
    kind, sentence = symptom["kind"], _text(symptom["sentence"])
    head = f"<b>{kind}</b> {_text(symptom['name'])}{_bar(symptom['strength'])}"
    reasons = (f"{cure['setting']}: {cure['obstacle'] or cure['reason']}" for cure in symptom["cures"])
    why = "".join(f"<p><small>{_text(reason)}</small></p>" for reason in reasons)
    return f'<article class="{kind}">{head}<p>{sentence}</p>{why}{_pre(symptom["statements"])}</article>'


def _memory(memory: Document) -> Iterator[str]:
    if memory["counted_bytes"] is None:
        return
    most = max((memory["limit_bytes"] or 0, memory["counted_bytes"], 1))
    limit = "unknown" if memory["limit_bytes"] is None else size(memory["limit_bytes"])
    yield f"<h2>Memory: {size(memory['counted_bytes'])} by the settings, limit {limit}</h2><table>"
    for line in sorted(memory["lines"], key=lambda entry: -entry["bytes"]):
        if line["bytes"]:
            bar = _bar(line["bytes"] / most)
            yield f"<tr><td>{_text(line['name'])}</td><td>{size(line['bytes'])}</td><td>{bar}</td></tr>"
    yield "</table>"


def _bar(share: float) -> str:
    return f'<div class="bar"><i style="width: {100 * min(share, 1.0):.0f}%"></i></div>'


def _pre(lines: Iterable[str]) -> str:
    text = "\n".join(map(_text, lines))
    return f"<pre>{text}</pre>" if text else ""


def _table(rows: Iterable[Iterable[str]]) -> str:
    cells = ("".join(f"<td>{_text(cell)}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _text(text: object) -> str:
    return escape(printable(str(text)))
