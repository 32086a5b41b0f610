"""Steps of recommendations and sessions, as a transaction keeps them until their consequences are executed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lutra_models.errors import Failure, FailureCode
from lutra_models.evidence import How
from lutra_models.lifecycle import RecommendationState, SessionState

from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Session


@dataclass(frozen=True)
class Declined:
    """An operator declined a recommendation's changes, or only those of `names`.

    `instead` is the recommendation of the rest, if there is one.
    """

    how: How
    reason: str | None = None
    names: Collection[str] | None = None
    instead: str | None = None


@dataclass(frozen=True)
class Transition:
    """A recommendation was led from one state to another by somebody, or made (`was` is None).

    `row` is the state before, or the new row. If an event keeps the state, both states are the same: from approved to
    approved it is withdrawn in its agent's hands. `why` is for the audit trail; `told` is a whole sentence for its
    session, if `why` is not one.
    """

    row: Recommendation
    was: RecommendationState | None
    to: RecommendationState
    by: str
    why: str = ""
    told: str = ""
    failure: Failure | None = None
    declined: Declined | None = None

    @property
    def code(self) -> FailureCode | None:
        return None if self.failure is None else self.failure.code


@dataclass(frozen=True)
class SessionTransition:
    """The same for a session."""

    row: Session
    was: SessionState | None
    to: SessionState
    by: str
    why: str = ""


class News:
    """The news of one transaction, at the moment `now`."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.facts: list[Any] = []
        self.changed: set[str] = set()

    def note(self, *ids: object) -> None:
        """Record that these rows changed."""
        self.changed.update(i for i in ids if isinstance(i, str))

    def note_new(self, record: object) -> None:
        """Record that this row is new, which changes its parent."""
        self.note(*(getattr(record, name, None) for name in ("id", "database_id", "session_id")))
