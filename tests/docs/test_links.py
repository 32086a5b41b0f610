"""Every link leads somewhere, and every page is linked from the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors, links, name, pages, prose

PATH = re.compile(r"`((?:agent|benchmarks|docs|models|notebooks|service|tests)/[\w./-]+)`")
"""A file or folder of the project, named in prose."""


def broken(page: Path) -> list[str]:
    found = []
    for line, target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        if not there.exists():
            found.append(f"{name(page)}:{line}: {target} leads nowhere")
        elif anchor and anchor not in anchors(there):
            found.append(f"{name(page)}:{line}: {target}: {name(there)} has no heading #{anchor}")
    return found


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert not broken(page)


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_file_that_is_named_exists(page: Path) -> None:
    named = [(line, path) for line, text in prose(page) for path in PATH.findall(text)]
    assert not [f"{name(page)}:{line}: {path}" for line, path in named if not (ROOT / path).exists()]


def test_every_page_of_the_documentation_is_in_its_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / target.partition("#")[0]).resolve() for _, target in links(index)}
    missing = [name(p) for p in pages() if p.is_relative_to(index.parent) and p != index and p not in linked]
    assert not missing


def test_a_broken_link_and_a_broken_anchor_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](#one) [b](#two) [`c`](absent.md) ![d](absent.svg)\n")
    assert broken(page) == [
        "page.md:3: #two: page.md has no heading #two",
        "page.md:3: absent.md leads nowhere",
        "page.md:3: absent.svg leads nowhere",
    ]
