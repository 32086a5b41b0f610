"""People are addressed in plain English: no private words in documentation, help, messages and, where gone, in code."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import pytest
from lutra_agent.commands.cli import main as lutra_agent
from lutra_service.cli import main as lutra

from tests.docs.pages import ROOT, name, pages, prose

SOURCES = tuple(ROOT / member for member in ("models", "agent", "service", "notebooks"))


@dataclass(frozen=True)
class Private:
    """A word, as a pattern, and what to write instead. `code`: identifiers are free of it, too, and stay so."""

    word: str
    instead: str
    code: bool = False


WORDS = (
    Private("told", "reported, stored, shown"),
    Private("anew", "again"),
    Private("stands?", "is, holds"),
    Private("ways? back", "undo, restore"),
    Private("(take|takes|taken|took|taking)( it| them)? back", "undo, undone"),
    Private("on end", "without a break"),
    Private("nobody's", "none, of no …"),
    Private("leans? on|leant on", "use, learn from"),
    Private("laid over", "merged with"),
    Private("heed(s|ed|less)?", "obey, respect"),
    Private("draws?( \\w+)+ together|drawn together", "merge"),
    Private("dial(s|led|ling)?", "connect"),
    Private("vouch(ed|es)?", "confirm"),
    Private("foresees?|foreseen|foretold", "predict", code=True),
    Private("mend(s|ed|ing)?", "fix", code=True),
    Private("bides?|abides?", "wait", code=True),
    Private("befalls?|befell", "happen", code=True),
    Private("whence|thence|thereof|wherein|whereof|therein", "from which, of it, in it", code=True),
    Private("hitherto|forthwith|henceforth|betimes|erstwhile", "until now, at once, from now on", code=True),
    Private("lest|nought|aright|amiss", "so that … not, nothing, right, wrong", code=True),
)


@dataclass(frozen=True)
class Text:
    place: str
    text: str


def found(texts: Iterator[Text], words: tuple[Private, ...] = WORDS) -> list[str]:
    """Where a private word is, with what to write instead."""
    compiled = [(re.compile(rf"\b(?:{w.word})\b", re.IGNORECASE), w.instead) for w in words]
    return [
        f"{text.place}: {hit[0]!r}: write {instead}"
        for text in texts
        for pattern, instead in compiled
        for hit in pattern.finditer(text.text)
    ]


def documentation() -> Iterator[Text]:
    for page in pages():
        yield from (Text(f"{name(page)}:{line}", text) for line, text in prose(page))
    for notebook in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "markdown"]
        yield from (Text(name(notebook), line) for cell in cells for line in cell["source"])


def help_of(command: click.Command, path: str) -> Iterator[Text]:
    yield Text(path, command.help or "")
    yield from (Text(f"{path} {o.name}", help_) for o in command.params if (help_ := getattr(o, "help", None)))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for sub in command.list_commands(context):
            inner = command.get_command(context, sub)
            assert inner is not None
            yield from help_of(inner, f"{path} {sub}")


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    files = [path for source in SOURCES for path in sorted(source.rglob("*.py"))]
    return tuple((path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())) for path in files)


def messages() -> Iterator[Text]:
    """Every text in the code that is not a docstring and has a space in it: errors, answers, logs, remedies."""
    for path, module in modules():
        documented = {id(d.value) for d in ast.walk(module) if isinstance(d, ast.Expr)}
        for node in ast.walk(module):
            if isinstance(node, ast.Constant) and id(node) not in documented and " " in str(node.value):
                yield Text(f"{path}:{node.lineno}", str(node.value))


def descriptions() -> Iterator[Text]:
    """Every description and summary of the REST interface."""
    found: list[tuple[str, object]] = [("", json.loads((ROOT / "service" / "openapi.json").read_text()))]
    while found:
        place, node = found.pop()
        inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in inner:
            if key in ("description", "summary") and isinstance(value, str):
                yield Text(f"openapi.json {place}", value)
            found.append((f"{place}/{key}", value))


def identifiers() -> Iterator[Text]:
    """Modules, classes, functions, arguments, variables and attributes, their parts as words."""
    for path, module in modules():
        yield Text(path, _words(Path(path).stem))
        for node in ast.walk(module):
            named = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
            named = node.name if isinstance(node, ast.ClassDef | ast.FunctionDef) else named
            if isinstance(named, str):
                yield Text(f"{path}:{getattr(node, 'lineno', 0)} {named}", _words(named))


def _words(identifier: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", identifier).replace("_", " ")


def test_the_documentation_uses_plain_words() -> None:
    assert not found(documentation())


@pytest.mark.parametrize(("program", "command"), [("lutra", lutra), ("lutra-agent", lutra_agent)])
def test_the_help_uses_plain_words(program: str, command: click.Command) -> None:
    assert not found(help_of(command, program))


def test_the_rest_interface_is_described_in_plain_words() -> None:
    assert not found(descriptions())


def test_messages_use_plain_words() -> None:
    assert not found(messages())


def test_identifiers_stay_free_of_the_words_that_they_are_free_of() -> None:
    assert not found(identifiers(), tuple(w for w in WORDS if w.code))


@pytest.mark.parametrize("text", ["It was told twice.", "a way back", "Begin anew", "HEEDED", "taken back"])
def test_a_private_word_is_seen(text: str) -> None:
    assert found(iter([Text("here", text)]))


@pytest.mark.parametrize("text", ["standard", "backup", "give it back", "mention", "retold-free: retelling"])
def test_other_words_are_left_alone(text: str) -> None:
    assert not found(iter([Text("here", text)]))


def test_an_identifier_is_read_by_its_parts() -> None:
    assert _words("WayBack") == "Way Back"
    assert _words("_way_back").strip() == "way back"
