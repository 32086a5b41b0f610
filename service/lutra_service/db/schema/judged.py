"""The effect of a change on a live database, as its recommendation stores it: the judgement, and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from lutra_models.judgement import Judgement, Lasts

from lutra_service.common.documents import Document

_PARTS = tuple(f.name for f in fields(Judgement))


@dataclass(frozen=True)
class Look:
    """A reported gain, judged again `hours` after the change.

    `held` compares with the time before the change, and `since` with the time just after it: documents of a `ratio`
    between `low` and `high`, None without windows at comparable load.
    """

    at: datetime
    hours: float
    state: Lasts
    because: str
    sentence: str
    held: Document | None
    since: Document | None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Look:
        return cls(**{**document, "at": datetime.fromisoformat(document["at"])})

    def to_dict(self) -> Document:
        return {**asdict(self), "at": self.at.isoformat()}


@dataclass(frozen=True)
class Judged:
    """`found` in a `sentence`, and the possible next step. `together` is the same of all changes of its session.

    `lost_at` is the time since which the change, or all of them together, are known to be a loss. `lasting` are the
    later judgements of a gain, in order.
    """

    found: Judgement
    sentence: str
    follows: str = ""
    together: Judged | None = None
    lost_at: datetime | None = None
    lasting: tuple[Look, ...] = ()

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
            tuple(map(Look.from_dict, document.get("lasting", ()))),
        )

    def to_dict(self) -> Document:
        together = None if self.together is None else self.together.part
        lost = {} if self.lost_at is None else {"lost_at": self.lost_at.isoformat()}
        lasting = [look.to_dict() for look in self.lasting]
        return {**self.part, "follows": self.follows, "together": together, **lost, "lasting": lasting}

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
    def gained(self) -> float | None:
        """The ratio of after to before of its change, or else of all changes of its session together."""
        better = self.found if self.found.verdict == "better" or self.together is None else self.together.found
        return better.ratio

    @property
    def _verdicts(self) -> tuple[str, ...]:
        return self.found.verdict, "" if self.together is None else self.together.found.verdict
