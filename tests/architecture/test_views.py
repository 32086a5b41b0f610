"""An answer names what it shows: a new column of a row is published by nobody's oversight."""

from __future__ import annotations

import ast
from pathlib import Path

API = Path(__file__).parents[2] / "service" / "lutra_service" / "api"
WHOLE = ("vars", "asdict", "dataclasses.asdict")


def shown_whole(source: str) -> list[int]:
    """The lines in which a record is shown with all that it has."""
    found = []
    for node in ast.walk(ast.parse(source)):
        whole = isinstance(node, ast.Call) and ast.unparse(node.func) in WHOLE
        if whole or (isinstance(node, ast.Attribute) and node.attr == "__dict__"):
            found.append(node.lineno)
    return sorted(found)


def test_no_answer_shows_a_record_with_all_that_it_has() -> None:
    found = {str(path.relative_to(API)): shown_whole(path.read_text()) for path in API.rglob("*.py")}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_what_it_looks_for_is_found() -> None:
    source = "told = {**vars(record)}\nmore = asdict(change)\nmine = record.__dict__\nanswer = {'id': record.id}"
    assert shown_whole(source) == [1, 2, 3]
