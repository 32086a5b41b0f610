"""A recommendation by its parts: its request, proposal, decision, delivery and measurement.

A part is None until it exists, and is written as a whole. Its fields are columns of `recommendations`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, TypedDict

from lutra_models.errors import Failure
from lutra_models.evidence import Change, TurnedDown
from lutra_models.knobs import Value
from lutra_models.lifecycle import Origin, RecommendationKind, RecommendationState

from lutra_service.common.documents import Document
from lutra_service.db.schema.columns import Id, OfDatabase, OfSession, Stored
from lutra_service.db.schema.judged import Judged
from lutra_service.db.schema.outcome import ChangeOutcome


@dataclass(frozen=True)
class Request:
    """The question. `key` is its digest: the same question about the same history has one recommendation.

    `before` are the settings that were active: when it was asked, then when it was proposed and approved.
    `model_version` computes it; none if nothing is computed.
    """

    key: Annotated[str, Stored(64)]
    seed: Annotated[int, Stored(is_big=True)]
    package_version: Annotated[str, Stored(40)]
    before: Document
    created_at: datetime
    model_version: Annotated[str, Stored(40)] | None = None


@dataclass(frozen=True)
class Proposal:
    """The configuration to make active, with its changes, the reasons for them and their predicted effect.

    `curve` is the gain of few of its changes; `shortened_from` is the best by posterior that it replaces, with fewer
    changes. `must_reach` is the reading without which its window may be ended early. `looked_at` is its ground on a
    live database (`lutra_models.advice.Basis`). `leaned` names the past workloads that it uses with their weights, the
    configuration without them, and what that model predicts. A trial that was imported was never proposed: it has a
    configuration alone, and no `proposed_at`.
    """

    configuration: Document
    origin: Annotated[Origin, Stored(40)]
    changes: list[Document] = field(default_factory=list)
    restart_needed: bool = False
    reasons: list[Document] = field(default_factory=list)
    predictions: Document = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    memory: Document | None = None
    curve: list[Document] = field(default_factory=list)
    shortened_from: Document | None = None
    must_reach: float | None = None
    looked_at: Document | None = None
    leaned: Document | None = None
    proposed_at: datetime | None = None


@dataclass(frozen=True)
class Decision:
    """The approval, which expires at `expires_at`, or the rejection.

    `turned_down` are its declined changes, including those that were declined after they had been active; `reason` is
    the reason for it in a person's words.
    """

    decided_at: datetime
    decided_by: Annotated[str, Stored(40)] | None = None
    expires_at: datetime | None = None
    reason: Annotated[str, Stored(1000)] | None = None
    turned_down: TurnedDown | None = None


@dataclass(frozen=True)
class Delivery:
    """Its way to the server, and the outcome there. `handed_to` is the agent that received it as a directive.

    One that is withdrawn after that keeps its state until this agent's outcome is known. One that somebody makes active
    by hand is never handed out.
    """

    handed_out_at: datetime | None = None
    handed_to: Annotated[str, Stored(129)] | None = None
    applied_at: datetime | None = None
    outcome: ChangeOutcome | None = None
    withdrawn_at: datetime | None = None
    withdrawn_by: Annotated[str, Stored(40)] | None = None


Gain = Literal["told", "holds", "decayed", "unknown"]
"""A reported gain, before it is judged again and after that."""


@dataclass(frozen=True)
class Measurement:
    """The readings by metric, or the bound of a window that was `ended_early`; and the effect at comparable load.

    `gain` is the state of a reported gain. It is judged again at `look_at`, against the windows in `kept`.
    """

    measured: Document | None = None
    ended_early: Document | None = None
    judgement: Judged | None = None
    gain: Annotated[Gain, Stored(20)] | None = None
    look_at: datetime | None = None
    kept: Document | None = None

    def is_about(self, metric: str) -> bool:
        """Whether it has a reading of this metric, or the bound of one."""
        return metric in (self.measured or {}) or self.ended_early is not None


class Parts(TypedDict, total=False):
    """The fields that an update may write beside the state: whole parts, and what changes of the rest."""

    request: Request
    proposal: Proposal
    decision: Decision
    delivery: Delivery
    measurement: Measurement
    kind: RecommendationKind
    trial: int | None


@dataclass(frozen=True)
class Recommendation:
    """`parent_id` is the recommendation that it is a part of, measures again or undoes. `trial` is its number in its
    session.

    `failure` is why it failed, was not carried out or was undone. One that is `computing` has a job.
    """

    id: Id
    database_id: OfDatabase
    kind: Annotated[RecommendationKind, Stored(20)]
    state: Annotated[RecommendationState, Stored(20)]
    request: Request
    session_id: OfSession | None = None
    parent_id: Annotated[str, Stored(40)] | None = None
    trial: int | None = None
    proposal: Proposal | None = None
    decision: Decision | None = None
    delivery: Delivery | None = None
    measurement: Measurement | None = None
    failure: Failure | None = None
    ended_at: datetime | None = None

    @property
    def changes(self) -> list[Document]:
        """Empty before it is proposed."""
        return [] if self.proposal is None else self.proposal.changes

    @property
    def configuration(self) -> Document:
        """The whole configuration; empty before it is proposed."""
        return {} if self.proposal is None else self.proposal.configuration

    @property
    def origin(self) -> Origin | None:
        """The step that proposed it."""
        return None if self.proposal is None else self.proposal.origin

    @property
    def needs_restart(self) -> bool:
        """Whether any of its changes needs a restart."""
        return self.proposal is not None and self.proposal.restart_needed

    @property
    def decided_by(self) -> str | None:
        """The token that decided, `automatic` or `service`; None before that."""
        return None if self.decision is None else self.decision.decided_by

    @property
    def is_handed_out(self) -> bool:
        """Whether an agent was given it."""
        return self.delivery is not None and self.delivery.handed_out_at is not None

    @property
    def is_withdrawn(self) -> bool:
        """Whether it was withdrawn after an agent had been given it."""
        return self.delivery is not None and self.delivery.withdrawn_at is not None

    @property
    def applied_at(self) -> datetime | None:
        """The time at which it was made active."""
        return None if self.delivery is None else self.delivery.applied_at

    @property
    def outcome(self) -> ChangeOutcome | None:
        """The outcome that its agent reported."""
        return None if self.delivery is None else self.delivery.outcome

    @property
    def measured(self) -> Document | None:
        """The readings by metric."""
        return None if self.measurement is None else self.measurement.measured

    @property
    def judgement(self) -> Judged | None:
        """Its effect at comparable load."""
        return None if self.measurement is None else self.measurement.judgement

    @property
    def error(self) -> str | None:
        """Why it came to nothing or was undone, in one line for people; None if there are no words for it."""
        return (self.failure.text or None) if self.failure else None

    @property
    def is_active(self) -> bool:
        """Whether it was made active and, by its agent's reports, still is: including one whose measurement failed."""
        if self.state in (RecommendationState.APPLIED, RecommendationState.CONFIRMED):
            return True
        return self.state != RecommendationState.REVERTED and self.outcome is not None and self.outcome.is_active

    @property
    def confirmed_at(self) -> datetime | None:
        """When its agent confirmed it; else, in a lab, when it was measured."""
        told = None if self.outcome is None else self.outcome.confirmed_at
        return self.ended_at if told is None and self.state == RecommendationState.CONFIRMED else told

    @property
    def undone_by(self) -> str | None:
        """The actor of its undo; None if it was not undone."""
        if self.state != RecommendationState.REVERTED or self.outcome is None:
            return None
        who: str | None = self.outcome.document.get("undone_by")
        return who


def net_changes(rows: Sequence[Recommendation]) -> list[Change]:
    """The net effect of these changes: a setting that is back at its value has not changed."""
    first, last = dict[str, Value](), dict[str, Value]()
    for change in (c for r in rows for c in r.changes):
        first.setdefault(change["setting"], change["before"])
        last[change["setting"]] = change["after"]
    return [Change(n, before, last[n]) for n, before in first.items() if last[n] != before]
