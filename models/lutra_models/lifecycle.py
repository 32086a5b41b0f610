"""The life cycles of a recommendation, a session and a model version: their states, and the allowed transitions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from lutra_models.errors import IllegalTransition


class RecommendationState(StrEnum):
    """`observing` waits for windows of the active settings; `unneeded` found nothing worth changing."""

    OBSERVING = "observing"
    COMPUTING = "computing"
    PROPOSED = "proposed"
    APPROVED = "approved"
    APPLIED = "applied"
    CONFIRMED = "confirmed"
    REVERTED = "reverted"
    REJECTED = "rejected"
    REFUSED = "refused"
    FAILED = "failed"
    EXPIRED = "expired"
    UNNEEDED = "unneeded"


class RecommendationKind(StrEnum):
    """The purpose of a recommendation."""

    SEARCH = "search"
    VERIFICATION = "verification"
    HANDOVER = "handover"
    MANUAL = "manual"
    SUBSET = "subset"
    ROLLBACK = "rollback"
    MAINTENANCE = "maintenance"


class Origin(StrEnum):
    """The step that proposed a configuration: one of the search, one of a session's end, or an operator."""

    CURRENT = "current"
    RULE_BASED = "rule_based"
    MIDDLE = "middle"
    SPACE_FILLING = "space_filling"
    TRANSFER = "transfer"
    IMPROVEMENT = "improvement"
    REPEAT = "repeat"
    REFERENCE = "reference"
    SHORTER = "shorter"
    EVIDENCE = "evidence"
    RETURN = "return"
    NOTHING = "nothing"
    EXPLORATION = "exploration"
    HANDOVER = "handover"
    BASELINE = "baseline"
    MANUAL = "manual"
    SUBSET = "subset"
    ROLLBACK = "rollback"


class SessionState(StrEnum):
    """`settled`: nothing is worth changing, and it looks again once something has changed; `undone`: it was completed,
    and its final configuration is no longer active.
    """

    RUNNING = "running"
    SETTLED = "settled"
    PAUSED = "paused"
    COMPLETED = "completed"
    STOPPED = "stopped"
    UNDONE = "undone"


class ModelState(StrEnum):
    """Exactly one model version is the champion, which serves. A retired version may become it again."""

    CANDIDATE = "candidate"
    CHAMPION = "champion"
    RETIRED = "retired"


OPEN_SESSIONS = (SessionState.RUNNING, SessionState.SETTLED, SessionState.PAUSED)
"""A database has at most one session in one of these states."""

_R, _S, _M = RecommendationState, SessionState, ModelState
_RECOMMENDATION: Mapping[RecommendationState, tuple[RecommendationState, ...]] = {
    _R.OBSERVING: (_R.COMPUTING, _R.FAILED, _R.EXPIRED),
    _R.COMPUTING: (_R.PROPOSED, _R.UNNEEDED, _R.FAILED, _R.EXPIRED),
    _R.PROPOSED: (_R.APPROVED, _R.REJECTED, _R.EXPIRED),
    _R.APPROVED: (_R.APPLIED, _R.REFUSED, _R.FAILED, _R.EXPIRED, _R.REJECTED),
    _R.APPLIED: (_R.CONFIRMED, _R.REVERTED, _R.FAILED),
    _R.CONFIRMED: (_R.REVERTED,),
    _R.REVERTED: (),
    _R.UNNEEDED: (),
    # An agent's word may come late: what it made active is active, whatever was decided meanwhile.
    _R.REJECTED: (_R.APPLIED,),
    _R.REFUSED: (_R.APPLIED,),
    _R.EXPIRED: (_R.APPLIED,),
    _R.FAILED: (_R.APPLIED, _R.REVERTED),
}
_SESSION: Mapping[SessionState, tuple[SessionState, ...]] = {
    _S.RUNNING: (_S.SETTLED, _S.PAUSED, _S.COMPLETED, _S.STOPPED),
    _S.SETTLED: (_S.RUNNING, _S.PAUSED, _S.STOPPED),
    _S.PAUSED: (_S.RUNNING, _S.STOPPED),
    _S.COMPLETED: (_S.UNDONE,),
    _S.STOPPED: (),
    _S.UNDONE: (),
}
_MODEL: Mapping[ModelState, tuple[ModelState, ...]] = {
    _M.CANDIDATE: (_M.CHAMPION, _M.RETIRED),
    _M.CHAMPION: (_M.RETIRED,),
    _M.RETIRED: (_M.CHAMPION,),
}


def advance_recommendation(state: RecommendationState, to: RecommendationState) -> RecommendationState:
    """`to`, where `state` leads there. Raises IllegalTransition elsewhere."""
    if to not in _RECOMMENDATION[state]:
        raise IllegalTransition(f"a recommendation that is {state} cannot become {to}")
    return to


def advance_session(state: SessionState, to: SessionState) -> SessionState:
    """`to`, where `state` leads there. Raises IllegalTransition elsewhere."""
    if to not in _SESSION[state]:
        raise IllegalTransition(f"a {state} session cannot become {to}")
    return to


Until = Literal["computed", "decided", "applied", "measured", "ended"]
"""The progress of a recommendation for which a program waits."""

NOT_COMPUTED = (RecommendationState.OBSERVING, RecommendationState.COMPUTING)
_BEFORE: Mapping[Until, tuple[RecommendationState, ...]] = {
    "computed": NOT_COMPUTED,
    "decided": (*NOT_COMPUTED, RecommendationState.PROPOSED),
    "applied": (*NOT_COMPUTED, RecommendationState.PROPOSED, RecommendationState.APPROVED),
    "ended": (
        *NOT_COMPUTED,
        RecommendationState.PROPOSED,
        RecommendationState.APPROVED,
        RecommendationState.APPLIED,
    ),
}


def has_come(state: str, measured: bool, until: Until) -> bool:
    """Whether a recommendation in `state` has come so far, or has ended and never will."""
    if until == "measured":
        return measured or has_come(state, measured, "ended")
    return state not in _BEFORE[until]


def advance_model(state: ModelState, to: ModelState) -> ModelState:
    """`to`, where `state` leads there. Raises IllegalTransition elsewhere."""
    if to not in _MODEL[state]:
        raise IllegalTransition(f"a {state} model version cannot become {to}")
    return to
