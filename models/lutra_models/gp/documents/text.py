"""Options as a document that a person writes and reads: TOML or JSON, each option with its meaning and its range."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Literal

from lutra_models.errors import InvalidOptions
from lutra_models.gp.documents import parts
from lutra_models.gp.documents.ranges import faults, range_of
from lutra_models.gp.options.reading import Named, Room, name_of
from lutra_models.gp.options.rooms import DEFAULT, Options

Form = Literal["toml", "json"]
WIDTH = 100
LONGEST_LINE = 500
"""tomllib keeps each prefix of a dotted key: one of 32,000 parts takes gigabytes. A key is on one line."""


def read(text: str, form: Form) -> Options:
    """The options in `text`; what it does not name keeps its default. Raises InvalidOptions."""
    try:
        document = _toml(text) if form == "toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOptions(f"the document is no {form.upper()}: {error}") from error
    return checked(document)


def _toml(text: str) -> dict[str, Any]:
    """Raises ValueError."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            raise ValueError(f"line {number} has {len(line):,} characters; the maximum is {LONGEST_LINE}")
    return tomllib.loads(text)


def checked(document: object) -> Options:
    """The options in a parsed document. Raises InvalidOptions, which names each option, its value and its range."""
    if not isinstance(document, Mapping):
        raise InvalidOptions(f"an options document is a table of groups, got {document!r:.100}")
    try:
        options = Options.from_dict(document)
    except ValueError as error:
        raise InvalidOptions(str(error)) from error
    wrong = [*faults(options), *parts.unknown(options)]
    if wrong:
        raise InvalidOptions("; ".join(wrong))
    return options


def toml(options: Options) -> str:
    """The whole document, which `read` reads back to equal options; each option has its meaning and range above it."""
    return "\n".join(_rooms(options, DEFAULT)).strip() + "\n"


def _rooms(options: Options, default: Options) -> Iterator[str]:
    for field in fields(options):
        room = getattr(options, field.name)
        yield from ("", *_comment(inspect.getdoc(type(room)) or ""), f"[{field.name}]")
        yield from _room(room, getattr(default, field.name), field.name)


def _room(room: Any, default: Any, prefix: str) -> Iterator[str]:
    """Plain values first: in TOML what follows a table belongs to it."""
    docs = docstrings(type(room))
    plain = [f.name for f in fields(room) if not isinstance(getattr(room, f.name), Room)]
    for name in plain:
        yield from _option(f"{prefix}.{name}", getattr(room, name), getattr(default, name), docs.get(name, ""))
    for name in (f.name for f in fields(room) if f.name not in plain):
        inner = getattr(room, name)
        meaning = f"{docs.get(name, '')} {inspect.getdoc(type(inner)) or ''}"
        yield from ("", *_comment(meaning), f"[{prefix}.{name}]")
        yield from _room(inner, getattr(default, name), f"{prefix}.{name}")


def _option(name: str, value: Any, default: Any, meaning: str) -> Iterator[str]:
    within = range_of(name)
    part = next((p for p in parts.PARTS if p.option == name), None)
    may = (
        f"Range: {within}{f', at most {within.most} of them' if within.most > 1 else ''}."
        if within is not None
        else f"There are {part.sentence()}."
        if part
        else ""
    )
    shipped = "" if value == default else f" The default: {_plain(default)}."
    yield from (*_comment(meaning), *_comment(f"{may}{shipped}"))
    yield f"{name.rpartition('.')[2]} = {_plain(value)}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent="# ", subsequent_indent="# ")


def _plain(value: Any) -> str:
    """JSON's numbers, texts and lists are TOML's too."""
    value = name_of(value) if isinstance(value, Named) else value
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def docstrings(room: type) -> dict[str, str]:
    """The text below each field in the room's source, by field."""
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(room))).body
    assert isinstance(made, ast.ClassDef)
    found = {}
    for line, below in zip(made.body, made.body[1:], strict=False):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and isinstance(below, ast.Expr):
            found[line.target.id] = str(ast.literal_eval(below.value))
    return found
