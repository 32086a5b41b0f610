"""Every text of the project that people read: pages, notebooks, docstrings, help, REST descriptions, messages, TOML."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from pathlib import Path

import click
from lutra_agent.commands.cli import main as lutra_agent
from lutra_client.commands.program import main as lutra

from tests.docs.pages import ROOT, name, pages, prose

SOURCES = tuple(ROOT / member for member in ("models", "agent", "service", "client", "lab", "notebooks"))
REFERENCES = ("models", "agent", "service", "client", "lab")
"""The distributions whose public docstrings are checked."""
PROGRAMS = (("lutra", lutra), ("lutra-agent", lutra_agent))
GENERATED = ("docs/reference/symptoms.md",)
"""Made of the catalogues, which are checked themselves."""
RECORDED = ("RESULTS.md", "HEALTHY.md", "WEIGHT.md", "SMALL_MEMORY.md")
"""Results of benchmarks, which quote what servers and programs printed then."""
NEVER_EDITED = "/migrations/versions/"
SENTENCES = (
    "meaning",
    "sentence",
    "by_hand",
    "reason",
    "why",
    "against",
    "bounded",
    "threshold",
    "message",
    "remedy",
    "what",
)
"""The keys of a catalogue whose values are sentences; the others are formulas, statements and names."""
_STATEMENT = re.compile(r"\b(?:SELECT|CASE|COALESCE|FILTER|BETWEEN)\b|\b(?:sum|max|coalesce)\(")
_CODE = re.compile(r"`[^`\n]*`")
_LIST_ITEM = re.compile(r"^ *(?:[-*]|\d+\.) ")


@dataclass(frozen=True)
class Text:
    """`place` names the file and line; `whole` where the text is complete sentences and not a part of a message;
    `recorded` where it is a measured result.
    """

    place: str
    text: str
    whole: bool = True
    recorded: bool = False


def documentation() -> Iterator[Text]:
    """Paragraphs, list items and table cells of every page, and of the notebooks' text."""
    for page in pages():
        for line, text in _paragraphs(prose(page)):
            yield Text(f"{name(page)}:{line}", text, recorded=page.name in RECORDED)
    for notebook in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "markdown"]
        for cell in cells:
            lines = list(enumerate("".join(cell["source"]).splitlines(), 1))
            yield from (Text(name(notebook), text) for _, text in _paragraphs(lines))


def _paragraphs(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The text between blank lines, headings, list items and table cells, each with its first line."""
    begun, parts = 0, list[str]()
    for number, line in [*lines, (0, "")]:
        alone = line.startswith(("#", "|"))
        if parts and (not line.strip() or alone or _LIST_ITEM.match(line)):
            yield begun, " ".join(parts)
            parts = []
        if line.startswith("|"):
            yield from ((number, cell.strip()) for cell in line.split("|") if cell.strip(" -:"))
        elif line.startswith("#"):
            yield number, line
        elif line.strip():
            begun = begun if parts else number
            parts.append(line.strip())


def help_texts() -> Iterator[Text]:
    for program, command in PROGRAMS:
        yield from _help_of(command, program)


def _help_of(command: click.Command, path: str) -> Iterator[Text]:
    yield from (Text(path, text) for text in (command.help or "").split("\n\n") if "\b" not in text)
    yield from (Text(f"{path} {o.name}", text) for o in command.params if (text := getattr(o, "help", None)))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for sub in command.list_commands(context):
            inner = command.get_command(context, sub)
            assert inner is not None
            yield from _help_of(inner, f"{path} {sub}")


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    files = [path for source in SOURCES for path in sorted(source.rglob("*.py"))]
    return tuple((path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())) for path in files)


def messages() -> Iterator[Text]:
    """Every text in the code that is not a docstring and has a space in it: errors, answers, logs, remedies."""
    for path, module in modules():
        within = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
        for node in ast.walk(module):
            if isinstance(node, ast.JoinedStr):
                within.update(id(part) for part in node.values)
                text = "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
                text = node.value
            else:
                continue
            if " " in text and not _STATEMENT.search(text) and NEVER_EDITED not in path:
                yield Text(f"{path}:{node.lineno}", text, whole=False)


def docstrings() -> Iterator[Text]:
    """The docstrings of public modules, classes, functions and attributes, without their code.

    A docstring with a backspace is the help of a command, which `help_texts` reads.
    """
    for path, module in modules():
        if path.split("/")[0] in REFERENCES and NEVER_EDITED not in path:
            for line, text in _docstrings_of(module):
                lines = list(enumerate(_CODE.sub("`code`", text).splitlines(), line))
                if "\b" not in text:
                    yield from (Text(f"{path}:{at}", part) for at, part in _paragraphs(lines))


def _docstrings_of(node: ast.AST) -> Iterator[tuple[int, str]]:
    body = getattr(node, "body", [])
    for before, statement in zip([None, *body], body, strict=False):
        documented = before is None or isinstance(before, ast.Assign | ast.AnnAssign)
        value = statement.value if documented and isinstance(statement, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, cleandoc(value.value)
        if isinstance(statement, ast.ClassDef | ast.FunctionDef) and not statement.name.startswith("_"):
            yield from _docstrings_of(statement)


def rest_descriptions() -> Iterator[Text]:
    """Every description and summary of the REST interface."""
    waiting: list[tuple[str, object]] = [("", json.loads((ROOT / "service" / "openapi.json").read_text()))]
    while waiting:
        place, node = waiting.pop()
        inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in inner:
            if key in ("description", "summary") and isinstance(value, str):
                yield from (Text(f"openapi.json {place}", text) for text in value.split("\n\n"))
            waiting.append((f"{place}/{key}", value))


def catalogues() -> Iterator[Text]:
    """The sentences of the settings, symptoms and rules."""
    for path in sorted(file for source in SOURCES for file in source.rglob("*.toml") if file.name != "pyproject.toml"):
        yield from _sentences_of(path.relative_to(ROOT).as_posix(), "", tomllib.loads(path.read_text()))


def _sentences_of(place: str, key: str, node: object) -> Iterator[Text]:
    if isinstance(node, str):
        if key in SENTENCES:
            yield Text(place, node, whole=False)
        return
    named = isinstance(node, dict) and isinstance(name := node.get("name"), str)
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for part, value in inner:
        if part == "numbers":
            continue
        of_settings = key == "settings" and isinstance(node, dict)
        where = f"{place} {name}" if named else place
        kind = "meaning" if of_settings else str(part) if isinstance(node, dict) else key
        yield from _sentences_of(f"{where} {part}", kind, value)


def identifiers() -> Iterator[Text]:
    """Modules, classes, functions, arguments, variables and attributes, their parts as words."""
    for path, module in modules():
        yield Text(path, words_of(Path(path).stem), whole=False)
        for node in ast.walk(module):
            named = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
            named = node.name if isinstance(node, ast.ClassDef | ast.FunctionDef) else named
            if isinstance(named, str):
                yield Text(f"{path}:{getattr(node, 'lineno', 0)} {named}", words_of(named), whole=False)


def words_of(identifier: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", identifier).replace("_", " ")
