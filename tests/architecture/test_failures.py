"""Why something failed is a value with a code: no program goes by the words that people read of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ("agent/lutra_agent", "client/lutra_client", "models/lutra_models", "service/lutra_service")
WORDS = ("error", "failure")
"""What holds them, as in `row.error`, `found["error"]`, `observation.failure`."""
OF_A_FAILURE = ("message", "text")
TAKEN_APART = (
    *("startswith", "endswith", "removeprefix", "removesuffix", "split", "rsplit", "splitlines"),
    *("partition", "rpartition", "find", "index", "count", "replace", "match", "search", "fullmatch"),
)


def names(node: ast.expr) -> Iterator[str]:
    """The names by which a value is reached, the last one first."""
    while True:
        match node:
            case ast.Attribute(value, name) | ast.Subscript(value, ast.Constant(str(name))):
                yield name
                node = value
            case ast.BoolOp(values=[first, *_]):
                node = first
            case ast.Name(name):
                yield name
                return
            case _:
                return


def is_words(node: ast.expr, words: tuple[str, ...] = WORDS) -> bool:
    reached = [*names(node), ""]
    if len(reached) > 2 and reached[0] in words:
        return True
    return reached[0] in OF_A_FAILURE and "failure" in reached[1]


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def taken_apart(source: str) -> list[int]:
    """The lines in which a failure's words are compared, searched or split."""
    found = []
    for node in ast.walk(ast.parse(source)):
        words = WORDS
        match node:
            case ast.Compare(left, _, others) if not all(map(is_none, others)):
                looked_at, words = [left, *others], ("error",)  # whole failures are compared, not what they say
            case ast.Call(ast.Attribute(value, name), arguments) if name in TAKEN_APART:
                looked_at = [value, *arguments]
            case ast.Subscript(value, ast.Slice()):
                looked_at = [value]
            case _:
                continue
        if any(is_words(part, words) for part in looked_at):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_program_goes_by_the_words_of_a_failure(program: str) -> None:
    sources = {path: path.read_text() for path in (ROOT / program).rglob("*.py") if path.parent.name != "versions"}
    assert sources
    found = {str(path.relative_to(ROOT)): taken_apart(source) for path, source in sources.items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        'row.error.startswith("expired")',
        '(row.error or "").split(":")[0]',
        "row.failure.message == WORDS",
        'failure.text.partition(": ")',
        '"never answered" in found["error"]',
        're.match("x", failure.message)',
        "outcome.error[:4]",
        'observation.failure.split(":")[0]',
    ],
)
def test_what_it_looks_for_is_found(source: str) -> None:
    assert taken_apart(source) == [1]


def test_codes_and_absence_are_what_a_program_may_ask_for() -> None:
    allowed = "failure.code is Code.X\nrow.failure == other\nrow.error is None\nstep.text == text\nlog.error('%s', x)"
    assert taken_apart(allowed) == []
