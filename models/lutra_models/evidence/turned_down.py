"""What was turned down or taken back: not proposed again until something that it depended on has changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from lutra_models.evidence.findings import Basis, Evidence, way
from lutra_models.knobs import Value

How = Literal["rejected", "left_out", "rolled_back", "reverted"]
"""By a person as a whole, by a person who approved the rest, by a person once it was active, by a guard."""


@dataclass(frozen=True)
class Change:
    """One setting of it: the value that it would have replaced, and the value that was proposed."""

    setting: str
    before: Value
    after: Value


@dataclass(frozen=True)
class TurnedDown:
    """Changes that were turned down together at a time, in UTC, with the reason that was given (it may be empty)."""

    changes: tuple[Change, ...]
    how: How
    at: datetime
    basis: Basis
    reason: str = ""

    def forbids(self, setting: str, before: Value, after: Value) -> bool:
        """Whether this change is one of them again: the same setting in the same direction, or to the same value."""
        return any(
            c.setting == setting and (after == c.after or (way(c.before, c.after) == way(before, after) != "set"))
            for c in self.changes
        )


def objection(
    turned_down: Iterable[TurnedDown], evidence: Evidence | None, setting: str, before: Value, after: Value
) -> TurnedDown | None:
    """The newest that forbids the change, as what it depended on is still as it was; None where none does.

    Without evidence nothing says that anything has changed.
    """
    found = [t for t in turned_down if t.forbids(setting, before, after) and not _changed(t, evidence)]
    return max(found, key=lambda t: t.at, default=None)


def _changed(turned_down: TurnedDown, evidence: Evidence | None) -> bool:
    """What was active when it was taken back had cured its symptom, so that this says nothing of how strong it was."""
    if evidence is None:
        return False
    names = [c.setting for c in turned_down.changes]
    return turned_down.basis.changed(evidence.basis(names), symptoms=turned_down.how in ("rejected", "left_out"))
