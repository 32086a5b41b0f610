"""`lutra summary`: as text, as JSON, and as a page that stands for itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import Result
from lutra_client.commands.summary_page import OPEN, page
from lutra_client.moments import reader_of
from lutra_client.schemas import SummaryAnswer
from lutra_service.api.openapi.examples.summary import happening, summary

from tests.support.service.live import Live

Document = dict[str, Any]
EVIL = '<img src="http://evil.example/x" onerror="alert(1)">\x1b[2J'


def answer(**parts: Any) -> SummaryAnswer:
    """The documented example, with its moments as a client has them."""
    read = reader_of(SummaryAnswer)
    assert read is not None
    return cast(SummaryAnswer, read({**summary, **parts}))


class Tags(HTMLParser):
    """The tags and attributes of a page, and the tags that were not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_shows_each_part_of_the_summary() -> None:
    html = page(answer())
    for told in ("shop", "11.8 ms", "worst hour 31 ms", "-18 %", "(-25 % to -10 %)", "work_mem 4MB → 8MB", "anna"):
        assert told in html
    for title in ("Effects of the changes", "Guards that fired", "Proposals that wait", "Sessions", "silent"):
        assert title in html
    assert "Changed outside Lutra" not in html
    assert html.count("<svg") >= 3
    assert Tags(html).open == []


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    tags = Tags(page(answer()))
    assert not tags.names & {"script", "link", "img", "iframe", "object", "form", "a", "base"}
    assert not tags.attributes & {"src", "href", "action", "background", "xlink:href"}
    assert not any(name.startswith("on") for name in tags.attributes)
    assert not re.search(r"url\(|@import|https?:|//[a-z]", page(answer()))


def test_texts_of_databases_and_people_are_escaped() -> None:
    events = [{**happening, "why": EVIL, "change": EVIL, "by": EVIL, "database": EVIL, "what": "reverted"}]
    loads = [{**summary["databases"][0], "name": EVIL, "engine": EVIL}]
    findings = [{**summary["findings"][0], "sentence": EVIL, "name": EVIL, "database": EVIL}]
    sessions = [{**summary["sessions"][0], "message": EVIL}]
    html = page(answer(changes=events, outside=events, databases=loads, findings=findings, sessions=sessions))
    assert "img" not in Tags(html).names
    assert "&lt;img" in html
    assert "\x1b" not in html


def test_a_week_without_figures_is_a_page_too() -> None:
    none = {"p99_ms": None, "worst_p99_ms": None, "qps": None, "hours": 0}
    load = summary["databases"][0]
    empty = {**load, "now": {**load["now"], **none}, "compared": None, "daily": [{**d, **none} for d in load["daily"]]}
    html = page(answer(databases=[empty]))
    assert "plain figures" in html
    assert Tags(html).open == []
    assert "No database yet." in page(answer(databases=[], changes=[], findings=[], databases_in_all=0))


def test_a_day_without_windows_is_a_gap_in_the_line() -> None:
    load = summary["databases"][0]
    p99 = [10.0, 11.0, None, 12.0, 13.0, 14.0, None, 15.0]
    days = [{**load["daily"][0], "p99_ms": value, "qps": None} for value in p99]
    html = page(answer(databases=[{**load, "daily": days}]))
    was, now = re.findall(r'<path class="(?:was|now)" d="([^"]*)"', html)
    assert (was.count("M"), now.count("M")) == (2, 2)


def test_a_fleets_page_shows_the_first_databases_and_the_others_after_a_click() -> None:
    loads = [{**summary["databases"][0], "name": f"shop {n}"} for n in range(OPEN + 2)]
    html = page(answer(databases=loads))
    assert "<details><summary>2 more</summary>" in html


@pytest.mark.slow
def test_the_verb_prints_text_writes_a_page_and_gives_json(
    shop: Live, run: Callable[..., Result], tmp_path: Path
) -> None:
    told = run("summary", "shop").output
    assert "1 database; no harmful findings" in told
    file = tmp_path / "week.html"
    assert run("summary", "--html", str(file)).output == f"wrote {file}\n"
    assert "shop" in file.read_text()
    found = json.loads(run("summary", "--days", "1", "--json").output)
    assert (found["days"], found["databases"][0]["name"]) == (1, "shop")
    assert "No such file" in run("summary", "--html", str(tmp_path / "none" / "week.html")).output
    assert run("summary", "shpo").exit_code == 1
