"""The project's Markdown pages: their code blocks, headings and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
FOLDERS = ("agent", "benchmarks", "docs", "models", "notebooks", "service", "tests")
_FENCE = re.compile(r"^( *)```(\S*) *$")
_MARKER = re.compile(r"^ *<!-- (.+?) -->$")
_HEADING = re.compile(r"^(#{1,6}) (.+)$")
_LINK = re.compile(r"(!?)\[[^\]\[]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, its text, and the comment on the line before it."""

    page: str
    line: int
    language: str
    text: str
    marker: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def not_run(self) -> str:
        """Why nothing runs it; empty where something does."""
        return self.marker.removeprefix("not run: ") if self.marker.startswith("not run: ") else ""


def pages() -> list[Path]:
    """Every Markdown file of the project."""
    return sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name


def blocks(page: Path) -> Iterator[Block]:
    begun: tuple[int, str, str, str] | None = None
    inside: list[str] = []
    before = ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = _FENCE.match(line)
        if begun is None and fence:
            marker = _MARKER.match(before)
            begun, inside = (number, fence[1], fence[2], marker[1] if marker else ""), []
        elif begun is not None and fence and not fence[2]:
            text = dedent("\n".join(inside)) + "\n"
            yield Block(name(page), begun[0], begun[2], text, begun[3])
            begun = None
        elif begun is not None:
            inside.append(line)
        before = line
    assert begun is None, f"{name(page)}:{begun[0]}: a block that never ends"


def prose(page: Path) -> list[tuple[int, str]]:
    """Line number and text of what is outside code blocks."""
    found, inside = [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            found.append((number, line))
    return found


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings: the second of the same name has -1 behind it."""
    found: set[str] = set()
    for _, line in prose(page):
        heading = _HEADING.match(line)
        if not heading:
            continue
        slug = re.sub(r"[^\w\- ]", "", heading[2].lower()).replace(" ", "-")
        count = 0
        while (numbered := f"{slug}-{count}" if count else slug) in found:
            count += 1
        found.add(numbered)
    return found


def links(page: Path) -> Iterator[tuple[int, str]]:
    """Line number and target of each link and image. A link's text may hold code."""
    for number, line in prose(page):
        for found in _LINK.finditer(_CODE.sub("code", line)):
            yield number, found[2]
