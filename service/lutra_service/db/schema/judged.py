"""The effect of a change on a live database, as its recommendation stores it: the judgement, and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from lutra_models.judgement import Judgement

from lutra_service.common.documents import Document

_PARTS = tuple(f.name for f in fields(Judgement))


@dataclass(frozen=True)
class Judged:
    """`found` in a `sentence`, and the possible next step. `together` is the same of all changes of its session.

    `lost_at` is the time since which the change, or all of them together, are known to be a loss.
    """

    found: Judgement
    sentence: str
    follows: str = ""
    together: Judged | None = None
    lost_at: datetime | None = None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Judged:
        """The value that `to_dict` or `part` wrote."""
        together, lost_at = document.get("together"), document.get("lost_at")
        return cls(
            Judgement(**{name: document[name] for name in _PARTS}),
            document["sentence"],
            document.get("follows", ""),
            cls.from_dict(together) if together else None,
            datetime.fromisoformat(lost_at) if lost_at else None,
        )

    def to_dict(self) -> Document:
        together = None if self.together is None else self.together.part
        lost = {} if self.lost_at is None else {"lost_at": self.lost_at.isoformat()}
        return {**self.part, "follows": self.follows, "together": together, **lost}

    @property
    def part(self) -> Document:
        """The judgement itself and its sentence."""
        return {**self.found.to_dict(), "sentence": self.sentence}

    @property
    def is_loss(self) -> bool:
        """Whether its change, or all changes of its session together, are judged worse."""
        return "worse" in self._verdicts

    @property
    def is_gain(self) -> bool:
        """Whether its change is judged better, by itself or with the changes of its session before it."""
        return self.found.verdict != "worse" and "better" in self._verdicts

    @property
    def _verdicts(self) -> tuple[str, ...]:
        return self.found.verdict, "" if self.together is None else self.together.found.verdict
