"""What follows from a step of a recommendation or a session stands in one room: no use case does it by hand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

APP = Path(__file__).parents[2] / "service" / "lutra_service" / "app"
HERE = APP / "tuning" / "consequences"
BY_HAND = {
    *("audit.decision", "audit.happened", "remember_declined", "versions.begin_shadows", "settling.settle"),
    *("session_steps.undone", "undone", "advance", "unit.news.note", "unit.publish"),
}


def done_by_hand(source: str) -> list[str]:
    """The calls of a module that are the consequences' to make."""
    calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [name for name in calls if name in BY_HAND]


@pytest.mark.parametrize("room", ["jobs", "reports", "tuning"])
def test_no_use_case_carries_out_what_follows_from_its_step(room: str) -> None:
    paths = [path for path in (APP / room).rglob("*.py") if path.parent != HERE]
    sources = {str(path.relative_to(APP)): path.read_text() for path in paths}
    assert len(sources) > 5
    assert {name: found for name, source in sources.items() if (found := done_by_hand(source))} == {}


def test_what_it_looks_for_is_done_in_the_room_for_it() -> None:
    sources = [path.read_text() for path in HERE.glob("*.py")]
    made = {name for source in sources for name in done_by_hand(source)}
    assert {"audit.decision", "remember_declined", "versions.begin_shadows", "settling.settle"} <= made
