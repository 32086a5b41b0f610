"""The verification at the end of a lab session, read from its rows: the finalists, their readings, and the next one to
measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lutra_models.errors import DecisionCode
from lutra_models.knobs import Configuration
from lutra_models.lifecycle import Origin
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.verification import ORIGINS, Contest, Finalist, FinalistName, over_loads

from lutra_service.app.tuning.record import trial_record
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Session
from lutra_service.db.store import UnitOfWork

FAILURES_OF_THE_BASELINE = 2
"""The number of failed measurements after which the baseline is no longer measured; one for other finalists."""


@dataclass(frozen=True)
class Verification:
    """`named` is the recommendation with the model's choice; the others were made to measure finalists."""

    session: Session
    named: Recommendation
    rule_based: Recommendation | None
    rows: tuple[Recommendation, ...]

    @cached_property
    def contest(self) -> Contest:
        finalists = tuple(self._finalist(name, c) for name, c in self._configurations.items())
        session = self.session
        if session.aim is not None:
            finalists = over_loads(finalists, session.aim)
        return Contest(session.judged, session.judged_limits, finalists, session.verification_rounds, session.aim)

    def of(self, name: FinalistName) -> list[Recommendation]:
        """The recommendations that measured this finalist, in order."""
        return [r for r in self.rows if self._name(r) == name]

    @cached_property
    def _configurations(self) -> dict[FinalistName, Configuration]:
        """Each another one: of equal ones the one that changes least to the server counts."""
        best = Configuration(self.named.configuration)
        baseline = best.replace({n: v for n, v in self._began.items() if n in best})
        found: dict[FinalistName, Configuration] = {"baseline": baseline}
        rules = self.rule_based.configuration if self.rule_based else {}
        if rules and all(n in rules for n in best):
            found["rule_based"] = Configuration(rules).restrict(best)
        found["best"] = best
        distinct: dict[FinalistName, Configuration] = {}
        for name, configuration in found.items():
            if configuration not in distinct.values():
                distinct[name] = configuration
        return distinct

    @property
    def _began(self) -> Document:
        """What was active when the session began; of settings that began to move later, when the best was named."""
        return {**self.named.request.before, **(self.session.baseline or {})}

    def _name(self, row: Recommendation) -> FinalistName | None:
        if row.id == self.named.id:
            best = Configuration(self.named.configuration)
            return next((n for n, c in self._configurations.items() if c == best), None)
        return next((n for n, origin in ORIGINS.items() if origin == row.origin), None)

    def _finalist(self, name: FinalistName, configuration: Configuration) -> Finalist:
        rows, metric = self.of(name), self.session.judged.metric
        measured = [trial_record.numbers(r) for r in rows if _is_reading(r, metric)]
        failures = [why for r in rows if (why := _failure(r, metric)) is not None]
        bearable = FAILURES_OF_THE_BASELINE if name == "baseline" else 1
        return Finalist(name, configuration, tuple(measured), failures[-1] if len(failures) >= bearable else None)


def of_session(unit: UnitOfWork, session: Session, rows: Sequence[Recommendation]) -> Verification | None:
    """The verification from the session's recommendations, if one of them names the best configuration. `rows` may lack
    data that are only for display.
    """
    own = trial_record.since_rebase(session, rows)
    verified = [r for r in own if r.kind == Kind.VERIFICATION and r.proposal is not None]
    named = [r for r in verified if r.parent_id is None]
    if not session.verification_rounds or not named:
        return None
    metric = session.judged.metric
    ruled = [r for r in own if r.kind == Kind.SEARCH and r.origin == Origin.RULE_BASED and _is_reading(r, metric)]
    since = tuple(r for r in verified if r.id >= named[-1].id)
    return Verification(session, unit.recommendations.get(named[-1].id), ruled[-1] if ruled else None, since)


def _is_reading(row: Recommendation, metric: str) -> bool:
    return metric in (row.measured or {}) and row.state in (State.APPLIED, State.CONFIRMED)


def _failure(row: Recommendation, metric: str) -> str | None:
    """Why there is no reading, where that is the configuration's doing and not the moment's."""
    if row.state == State.REJECTED and row.failure is not None and row.failure.code is DecisionCode.REJECTED:
        return "an operator declined it"
    if row.state == State.REFUSED:
        return row.error if trial_record.is_of_the_configuration(row) else None
    if row.state in (State.FAILED, State.REVERTED):
        return row.error or row.state
    return f"{metric} was not measured" if row.measured is not None and metric not in row.measured else None
