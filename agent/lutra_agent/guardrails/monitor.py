"""Watches the database by its guardrails: confirms a provisional change, or asks for it to be undone.

Its readings are on disk, so that neither a baseline nor a hold time starts again with the agent.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from lutra_models.guardrails import GuardName, Guardrail
from lutra_models.wire import ApplyCode, GuardEvent

from lutra_agent.config.types import GuardConfig
from lutra_agent.guardrails.evaluate import BASELINE_WINDOWS, Violation, WindowReading, baseline, evaluate, needed
from lutra_agent.state import provisional
from lutra_agent.state.outbox import Outbox
from lutra_agent.state.provisional import Provisional
from lutra_agent.state.store import State

WINDOWS = "windows"
CALM_WINDOWS = 30
"""So many windows under a confirmed configuration make the baseline."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Verdict:
    """What to do with the agent's latest change: nothing, confirm it, or undo it with this code and reason."""

    change: Provisional | None = None
    confirmed: bool = False
    code: ApplyCode | None = None
    reason: str = ""


class GuardrailMonitor:
    """`guardrails` returns the guardrails of the moment."""

    def __init__(
        self, state: State, guardrails: Callable[[], Mapping[GuardName, Guardrail]], config: GuardConfig
    ) -> None:
        self._state = state
        self._guardrails = guardrails
        self._config = config
        self._outbox = Outbox(state)
        kept = state.load(WINDOWS) or {}
        self._calm, self._recent, self._since = (
            [WindowReading.from_dict(s) for s in kept.get(name, ())] for name in ("calm", "recent", "since")
        )
        self.firing: tuple[GuardName, ...] = tuple(kept.get("firing", ()))

    @property
    def has_baseline(self) -> bool:
        """Whether enough was measured that a change can be compared with it."""
        return len(self._calm) >= BASELINE_WINDOWS

    def observe(self, reading: WindowReading, measured: bool) -> Verdict:
        """Take in one stretch of time. `measured`: it is a whole window, and no warm-up."""
        guardrails = self._guardrails()
        self._recent = needed(guardrails, [*self._recent, reading])
        violations = evaluate(guardrails, baseline(self._calm), self._recent)
        fired = [c for c in violations if c.fires]
        change = provisional.find(self._state)
        if change is not None and change.watched_until is not None and reading.end > change.watched_until:
            provisional.forget(self._state)
            change = None
        verdict = self._verdict(change, reading, measured, violations, fired)
        for violation in fired:
            if violation.guard not in self.firing:
                self._report(violation, reading, verdict.change if verdict.code else None)
        self.firing = tuple(c.guard for c in fired)
        self._save()
        return verdict

    def reset(self) -> None:
        """The configuration is another one now: of the earlier readings only the baseline still counts."""
        self._recent, self._since, self.firing = [], [], ()
        self._save()

    def _verdict(
        self,
        change: Provisional | None,
        reading: WindowReading,
        measured: bool,
        violations: tuple[Violation, ...],
        fired: list[Violation],
    ) -> Verdict:
        if change is not None and fired and self._may_act(reading):
            return Verdict(change, code="guardrail", reason="; ".join(map(str, fired)))
        if change is not None and not change.confirmed:
            return self._unconfirmed(change, reading, measured and not violations, violations)
        if measured and all(c.guard in self.firing for c in violations):
            self._calm = [*self._calm, reading][-CALM_WINDOWS:]
        return Verdict(change)

    def _unconfirmed(
        self, change: Provisional, reading: WindowReading, passed: bool, violations: tuple[Violation, ...]
    ) -> Verdict:
        if passed:
            self._since.append(reading)
            change = replace(change, windows=change.windows + 1)
            change.keep(self._state)
            if change.windows >= self._config.confirm_windows:
                return self._confirmed(change, reading)
        if reading.end > change.confirm_by and self._may_act(reading):
            why = "; ".join(map(str, violations)) or f"{change.windows} windows were measured under it"
            return Verdict(change, code="not_confirmed", reason=f"not confirmed in time: {why}")
        return Verdict(change)

    def _confirmed(self, change: Provisional, reading: WindowReading) -> Verdict:
        change = replace(change, watched_until=reading.end + timedelta(seconds=self._config.watch_s))
        self._calm = [*self._calm, *self._since][-CALM_WINDOWS:]
        self._since = []
        log.info("directive %s is confirmed after %d windows", change.directive, change.windows)
        return Verdict(change, confirmed=True)

    def _may_act(self, reading: WindowReading) -> bool:
        """A paused agent starts no server: whoever paused it may have stopped it."""
        return not (self._state.paused and reading.values.get("unreachable"))

    def _report(self, violation: Violation, reading: WindowReading, undone: Provisional | None) -> None:
        log.error("the guard fired: %s", violation)
        event = GuardEvent(
            id=f"ev_{secrets.token_hex(8)}",
            guard=violation.guard,
            metric=violation.metric,
            value=violation.value,
            bound=violation.bound,
            limit=violation.guardrail.limit,
            baseline=violation.baseline,
            held_s=violation.held_s,
            hold_s=violation.guardrail.hold_s,
            since=violation.since,
            at=reading.end,
            directive=undone and undone.directive,
            message=str(violation),
        )
        self._outbox.add_event(event)

    def _save(self) -> None:
        kept = {"calm": self._calm, "recent": self._recent, "since": self._since}
        content = {name: [s.to_dict() for s in readings] for name, readings in kept.items()}
        try:
            self._state.save(WINDOWS, {**content, "firing": list(self.firing)})
        except OSError as error:  # a full disk must not prevent the undoing
            log.error("the readings cannot be stored: %s", error)
