"""Watches the database by its guardrails: confirms a provisional change, or says that it has to be taken back.

What it has seen is on disk, so that neither a baseline nor a hold time begins anew with the agent.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from lutra_models.guardrails import GuardName, Guardrail
from lutra_models.wire import ApplyCode, GuardEvent

from lutra_agent.config.guardrails import GuardConfig
from lutra_agent.guardrails.evaluate import BASELINE_WINDOWS, Crossing, Seen, baseline, judge, needed
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
    """What is to be done with a change of ours: nothing, keep it as confirmed, or take it back with this reason."""

    change: Provisional | None = None
    confirmed: bool = False
    code: ApplyCode | None = None
    reason: str = ""


class Watch:
    """`rails` gives the guardrails of the moment."""

    def __init__(self, state: State, rails: Callable[[], Mapping[GuardName, Guardrail]], config: GuardConfig) -> None:
        self._state = state
        self._rails = rails
        self._config = config
        self._outbox = Outbox(state)
        kept = state.load(WINDOWS) or {}
        self._calm, self._recent, self._since = (
            [Seen.from_dict(s) for s in kept.get(name, ())] for name in ("calm", "recent", "since")
        )
        self.firing: tuple[GuardName, ...] = tuple(kept.get("firing", ()))

    @property
    def has_baseline(self) -> bool:
        """Whether enough was measured that a change can be compared with it."""
        return len(self._calm) >= BASELINE_WINDOWS

    def see(self, seen: Seen, measured: bool) -> Verdict:
        """Take one stretch of time in. `measured`: a whole window, and no warm-up."""
        rails = self._rails()
        self._recent = needed(rails, [*self._recent, seen])
        crossings = judge(rails, baseline(self._calm), self._recent)
        fired = [c for c in crossings if c.fires]
        change = provisional.find(self._state)
        if change is not None and change.watched_until is not None and seen.end > change.watched_until:
            provisional.forget(self._state)
            change = None
        verdict = self._verdict(change, seen, measured, crossings, fired)
        for crossing in fired:
            if crossing.guard not in self.firing:
                self._tell(crossing, seen, verdict.change if verdict.code else None)
        self.firing = tuple(c.guard for c in fired)
        self._save()
        return verdict

    def anew(self) -> None:
        """The configuration is another one now: what was seen before says nothing of it but its baseline."""
        self._recent, self._since, self.firing = [], [], ()
        self._save()

    def _verdict(
        self,
        change: Provisional | None,
        seen: Seen,
        measured: bool,
        crossings: tuple[Crossing, ...],
        fired: list[Crossing],
    ) -> Verdict:
        if change is not None and fired and self._may_act(seen):
            return Verdict(change, code="guardrail", reason="; ".join(map(str, fired)))
        if change is not None and not change.confirmed:
            return self._unconfirmed(change, seen, measured and not crossings, crossings)
        if measured and all(c.guard in self.firing for c in crossings):
            self._calm = [*self._calm, seen][-CALM_WINDOWS:]
        return Verdict(change)

    def _unconfirmed(self, change: Provisional, seen: Seen, passed: bool, crossings: tuple[Crossing, ...]) -> Verdict:
        if passed:
            self._since.append(seen)
            change = replace(change, windows=change.windows + 1)
            change.keep(self._state)
            if change.windows >= self._config.confirm_windows:
                return self._confirmed(change, seen)
        if seen.end > change.confirm_by and self._may_act(seen):
            said = "; ".join(map(str, crossings)) or f"{change.windows} windows were measured under it"
            return Verdict(change, code="not_confirmed", reason=f"not confirmed in time: {said}")
        return Verdict(change)

    def _confirmed(self, change: Provisional, seen: Seen) -> Verdict:
        change = replace(change, watched_until=seen.end + timedelta(seconds=self._config.watch_s))
        self._calm = [*self._calm, *self._since][-CALM_WINDOWS:]
        self._since = []
        log.info("directive %s is confirmed after %d windows", change.directive, change.windows)
        return Verdict(change, confirmed=True)

    def _may_act(self, seen: Seen) -> bool:
        """A paused agent starts no server: whoever paused it may have stopped it."""
        return not (self._state.paused and seen.values.get("unreachable"))

    def _tell(self, crossing: Crossing, seen: Seen, taken_back: Provisional | None) -> None:
        log.error("the guard fired: %s", crossing)
        event = GuardEvent(
            id=f"ev_{secrets.token_hex(8)}",
            guard=crossing.guard,
            metric=crossing.metric,
            value=crossing.value,
            bound=crossing.bound,
            limit=crossing.rail.limit,
            baseline=crossing.baseline,
            held_s=crossing.held_s,
            hold_s=crossing.rail.hold_s,
            since=crossing.since,
            at=seen.end,
            directive=taken_back and taken_back.directive,
            message=str(crossing),
        )
        self._outbox.add_event(event)

    def _save(self) -> None:
        kept = {"calm": self._calm, "recent": self._recent, "since": self._since}
        content = {name: [s.to_dict() for s in seen] for name, seen in kept.items()}
        try:
            self._state.save(WINDOWS, {**content, "firing": list(self.firing)})
        except OSError as error:  # a full disk must not bar the way back
            log.error("what was seen cannot be kept: %s", error)
