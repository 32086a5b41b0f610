"""The withdrawal of changes that are not applied yet: at once, or if an agent has received one, once its outcome is
known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Unpack

from lutra_models.errors import ApplyCode, Failure, Party
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.access import audit
from lutra_service.app.tuning.deliver import directive_holder
from lutra_service.app.tuning.deliver.directive_holder import Holder
from lutra_service.app.tuning.steps.facts import Heard
from lutra_service.common.actor import SERVICE
from lutra_service.db.schema.outcome import ChangeOutcome
from lutra_service.db.schema.recommendation import Delivery, Parts, Recommendation
from lutra_service.db.schema.transitions import Declined
from lutra_service.db.store import UnitOfWork

UNPROPOSED = (State.OBSERVING, State.COMPUTING)
OPEN = (*UNPROPOSED, State.PROPOSED, State.APPROVED)
UNDER_WAY = "its agent is carrying it out: it is rolled back once it is applied"
SETTLED_AFTER = timedelta(minutes=1)
"""The time after a withdrawal from which a report without an outcome shows that the agent did not begin."""
NO_ANSWER = "its agent never answered"


def withdraw(
    unit: UnitOfWork,
    row: Recommendation,
    by: str,
    failure: Failure,
    declined: Declined | None = None,
    **parts: Unpack[Parts],
) -> None:
    """`parts` are written if it ends now. An earlier withdrawal is kept."""
    if is_given(row):
        if row.is_withdrawn:
            return
        delivery = replace(row.delivery or Delivery(), withdrawn_at=unit.now, withdrawn_by=by)
        unit.recommendations.stay(row, by, failure=failure, declined=declined, delivery=delivery)
    else:
        to = State.EXPIRED if row.state in UNPROPOSED else State.REJECTED
        unit.recommendations.step(row, to, by, failure=failure, declined=declined, **parts)


def error(row: Recommendation) -> str | None:
    """Why it failed or was undone, for people. If its agent still holds it, the text says what happens next."""
    under_way = row.state == State.APPROVED and row.is_withdrawn
    return ": ".join(filter(None, (row.error, UNDER_WAY))) if under_way else row.error


def is_given(row: Recommendation) -> bool:
    """Whether an agent may be carrying it out."""
    return row.state == State.APPROVED and row.is_handed_out


def settle(unit: UnitOfWork, heard: Heard) -> None:
    """End recommendations that were withdrawn, or have expired, if the report shows that the agent no longer works on
    them.
    """
    database, report = heard.database, heard.report
    holder = str(Holder(report.agent, report.epoch))
    made = min(report.sent_at, unit.now)  # a clock that is ahead says nothing
    for row in unit.recommendations.in_states(database.id, (State.APPROVED,)):
        since = _lapsed_at(unit, row)
        if since is None or report.status.provisional == row.id or directive_holder.held_by_another(unit, row, holder):
            continue
        if made >= since + SETTLED_AFTER:
            _end(unit, row, heard.configuration or {})


def end_unanswered(unit: UnitOfWork, row: Recommendation) -> None:
    """Its agent is silent. If the agent made the change after all, its outcome counts whenever it arrives."""
    _end(unit, row, {}, NO_ANSWER)


def _lapsed_at(unit: UnitOfWork, row: Recommendation) -> datetime | None:
    """Since when it is no longer handed out; None while it is."""
    given, approval = row.delivery, row.decision
    if given is None or given.handed_out_at is None or approval is None or approval.expires_at is None:
        return None
    ends = [t for t in (given.withdrawn_at, approval.expires_at) if t is not None and t <= unit.now]
    return max(min(ends), given.handed_out_at) if ends else None


def _end(unit: UnitOfWork, row: Recommendation, configuration: Mapping[str, Any], why: str = "") -> None:
    if _is_active(row, configuration):
        found = ChangeOutcome.found_applied("found active", unit.now)
        by, why = audit.BY_HAND, "found active"
        delivery = replace(row.delivery or Delivery(), outcome=found, applied_at=unit.now)
        unit.recommendations.step(row, State.APPLIED, by, why, delivery=delivery)
    else:
        to = State.REJECTED if row.is_withdrawn else State.EXPIRED
        known = row.failure or Failure(ApplyCode.EXPIRED, "", Party.SERVICE)
        failure = replace(known, message="; ".join(filter(None, (known.message, why))))
        unit.recommendations.step(row, to, SERVICE, failure=failure)


def _is_active(row: Recommendation, configuration: Mapping[str, Any]) -> bool:
    """Whether anything of it is: what is there, somebody put there."""
    return any(c["after"] != c["before"] and configuration.get(c["setting"]) == c["after"] for c in row.changes)
