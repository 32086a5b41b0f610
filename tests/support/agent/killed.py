"""What holds of a change wherever the agent is killed: it is whole or undone, and its record says so."""

from __future__ import annotations

from typing import Any

from lutra_models.errors import ApplyCode
from lutra_models.wire import Outcome

from tests.support.agent.directed import Directed
from tests.support.agent.mortal import Lives, until_it_lives


def whole_or_undone_in(
    made: Directed, lives: Lives, target: dict[str, Any], kills: list[int], later_kills: list[int]
) -> int:
    """Apply a change under `kills` and, where it is applied then, undo it under `later_kills`; how many kills hit."""
    lives.kills = list(kills)
    before, file = made.active(), made.file
    until_it_lives(lives, lambda: made.do(target), lambda: made.executor().recover())
    recorded, changes = made.outcome("rec_1"), made.changes
    assert changes.in_hand is None
    if recorded is None or recorded.state != "applied":
        assert (made.active(), made.file, changes.watched) == (before, file, None)
        assert recorded is None or recorded.state in ("reverted", "refused")
        assert recorded is None or recorded in changes.due
        return lives.killed
    assert {n: made.active()[n] for n in target} == {n: str(v) for n, v in target.items()}
    assert changes.provisional is not None
    assert changes.provisional.directive == "rec_1"
    _undo_whole(made, lives, later_kills)
    assert (made.active(), made.file) == (before, file)
    return lives.killed


def _undo_whole(made: Directed, lives: Lives, kills: list[int]) -> None:
    code = ApplyCode.GUARDRAIL
    lives.kills = list(kills)

    def undo() -> Outcome:
        change = made.changes.watched
        assert change is not None
        return made.executor().undo(change, code, "why")

    def again() -> None:
        """As the loop does: what is half done first, then what the guardrails still ask for."""
        made.executor().recover()
        if made.changes.watched is not None:
            undo()

    until_it_lives(lives, undo, again)
    recorded, changes = made.outcome("rec_1"), made.changes
    assert recorded is not None
    assert (recorded.state, recorded.code) == ("reverted", code)
    assert [(o.directive, o.state) for o in changes.due] == [("rec_1", "applied"), ("rec_1", "reverted")]
    assert (changes.watched, changes.in_hand) == (None, None)
