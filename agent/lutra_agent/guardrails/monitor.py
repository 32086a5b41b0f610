"""Watches the database by its guardrails: confirms a provisional change, or asks for it to be undone.

Its readings are on disk, so that neither a baseline nor a hold time starts again with the agent.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import NormalDist, median

from lutra_models.errors import ApplyCode
from lutra_models.guardrails import P99_GUARD, GuardName, Guardrail
from lutra_models.judgement import LEVEL, LoadedWindow, judge
from lutra_models.metrics import P99, Objective
from lutra_models.wire import GuardEvent

from lutra_agent.config.types import GuardConfig
from lutra_agent.guardrails.evaluate import BASELINE_WINDOWS, Violation, WindowReading, baseline, evaluate, needed
from lutra_agent.state.change_events import Waited, WatchEnded, WindowPassed
from lutra_agent.state.change_record import ChangeRecord
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.store import State
from lutra_agent.state.unreported import GuardEvents

WORSE = 1.1
"""The ratio of p99 from which a loss counts."""
TELL = 10
"""The number of windows from which a loss counts at 80 % certainty; before them it counts at 99 %."""
CERTAIN = 0.8
WITHIN = NormalDist().inv_cdf((1 + LEVEL) / 2) / NormalDist().inv_cdf(CERTAIN)
"""The distance of the interval's end from the middle, relative to that of the quantile `CERTAIN`."""
WINDOWS = "windows"
CALM_WINDOWS = 120 + TELL
"""The number of windows under a confirmed configuration that are kept to compare a change with."""
NEWEST = 30
"""The number of these windows in the baseline."""


def regression(
    before: Sequence[WindowReading], since: Sequence[WindowReading], guardrail: Guardrail
) -> Violation | None:
    """The comparison at comparable load and pressure if it says that p99 is worse; otherwise None."""
    newest = next((told for one in reversed(since) if (told := P99_GUARD.reading(one.values))), None)
    if newest is None:
        return None
    name, value = newest
    was, now = (_loaded(readings, name, group) for readings, group in ((before, "before"), (since, "since")))
    found = judge(was, now, Objective(P99.name, "minimize"))
    if found.ratio is None or found.low is None or found.high is None or found.ratio < WORSE:
        return None
    likely = WITHIN * math.log(found.ratio) >= math.log(found.ratio / found.low)
    if found.verdict != "worse" and not (len(since) >= TELL and likely):
        return None
    usual = median(one.metrics[P99.name] for one in was)
    held_s = sum(one.seconds for one in since)
    interval = f"{LEVEL:.0%} interval: {_more(found.low)} to {_more(found.high)}"
    counted = (
        f"{found.after} windows against {found.before} before it, at comparable load and with comparable neighbours"
    )
    why = f"p99 is {_more(found.ratio)} since the change ({interval}), by {counted}"
    return Violation("p99", name, value, WORSE * usual, guardrail, usual, since[0].start, held_s, why)


def _loaded(readings: Sequence[WindowReading], name: str, group: str) -> list[LoadedWindow]:
    return [
        LoadedWindow(one.start.timestamp(), one.seconds, {**one.values, P99.name: one.values[name]}, group=group)
        for one in readings
        if name in one.values
    ]


def _more(ratio: float) -> str:
    return f"{abs(ratio - 1):.0%} {'higher' if ratio >= 1 else 'lower'}"


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Confirmation:
    """The change is confirmed by the window that ended at `at`; guardrails continue to watch it until `watch_until`."""

    change: ChangeRecord
    at: datetime
    watch_until: datetime


@dataclass(frozen=True)
class Verdict:
    """The decision about the watched change: nothing, confirm it, or undo it with this code and reason."""

    change: ChangeRecord | None = None
    confirmed: Confirmation | None = None
    code: ApplyCode | None = None
    reason: str = ""


class GuardrailMonitor:
    """`guardrails` returns the guardrails of the moment."""

    def __init__(
        self,
        state: State,
        changes: ChangeStore,
        guardrails: Callable[[], Mapping[GuardName, Guardrail]],
        config: GuardConfig,
    ) -> None:
        self._state = state
        self._guardrails = guardrails
        self._config = config
        self._changes = changes
        self._events = GuardEvents(state)
        kept = state.load(WINDOWS) or {}
        self._calm, self._recent, self._since, self._after = (
            [WindowReading.from_dict(s) for s in kept.get(name, ())] for name in ("calm", "recent", "since", "after")
        )
        self.firing: tuple[GuardName, ...] = tuple(kept.get("firing", ()))

    @property
    def has_baseline(self) -> bool:
        """Whether there are enough measurements to compare a change with."""
        return len(self._calm) >= BASELINE_WINDOWS

    def observe(self, reading: WindowReading, measured: bool) -> Verdict:
        """Take in one stretch of time. `measured`: it is a whole window, without a warm-up."""
        guardrails = self._guardrails()
        self._recent = needed(guardrails, [*self._recent, reading])
        change = self._watched(reading)
        usual = baseline(self._calm[-NEWEST:])
        violations = evaluate(guardrails, usual, self._recent)
        if change is not None and measured:
            violations = self._with_regression(violations, reading, guardrails["p99"])
        fired = [c for c in violations if c.fires]
        verdict = self._verdict(change, reading, measured, violations, fired)
        for violation in fired:
            if violation.guard not in self.firing:
                self._report(violation, reading, verdict.change if verdict.code else None)
        self.firing = tuple(c.guard for c in fired)
        self._save()
        return verdict

    def wait(self, seconds: float) -> None:
        """The server was down on purpose for this time: guards do not count it, and the time limits of changes do not
        run.
        """
        watched = self._changes.load().watched
        if watched is not None and seconds > 0:
            self._changes.write_or_hold(Waited(watched.directive, seconds))

    def reset(self) -> None:
        """The configuration has changed: of the earlier readings only the baseline still counts."""
        self._recent, self._since, self._after, self.firing = [], [], [], ()
        self._save()

    def _with_regression(
        self, violations: tuple[Violation, ...], reading: WindowReading, guardrail: Guardrail
    ) -> tuple[Violation, ...]:
        """With what all windows since the change say of p99, where it does not fire by its bound."""
        if not guardrail.enabled or len(self._after) >= TELL:
            return violations
        self._after.append(reading)
        if any(v.guard == "p99" and v.fires for v in violations):
            return violations
        before = [one for one in self._calm if one.end <= self._after[0].start]
        found = regression(before, self._after, guardrail)
        return violations if found is None else (*(v for v in violations if v.guard != "p99"), found)

    def _watched(self, reading: WindowReading) -> ChangeRecord | None:
        change = self._changes.load().watched
        if change is not None and change.watch_until is not None and reading.end > change.watch_until:
            return self._changes.write_or_hold(WatchEnded(change.directive, reading.end)).watched
        return change

    def _verdict(
        self,
        change: ChangeRecord | None,
        reading: WindowReading,
        measured: bool,
        violations: tuple[Violation, ...],
        fired: list[Violation],
    ) -> Verdict:
        if change is not None and fired and self._may_act(reading):
            return Verdict(change, code=ApplyCode.GUARDRAIL, reason="; ".join(map(str, fired)))
        if change is not None and not change.confirmed:
            return self._unconfirmed(change, reading, measured and not violations, violations)
        if measured and all(c.guard in self.firing for c in violations):
            self._calm = [*self._calm, reading][-CALM_WINDOWS:]
        return Verdict(change)

    def _unconfirmed(
        self, change: ChangeRecord, reading: WindowReading, passed: bool, violations: tuple[Violation, ...]
    ) -> Verdict:
        in_time = _in_time(change, reading.end)
        windows = change.windows
        if passed and in_time:
            changes = self._changes.write(WindowPassed(change.directive, reading.end))
            self._since.append(reading)
            windows += 1
            if windows >= self._config.confirm_windows and changes.watched is not None:
                return self._confirmed(changes.watched, reading)
        if not in_time and self._may_act(reading):
            why = "; ".join(map(str, violations)) or f"{windows} windows were measured under it"
            return Verdict(change, code=ApplyCode.NOT_CONFIRMED, reason=f"not confirmed in time: {why}")
        return Verdict(change)

    def _confirmed(self, change: ChangeRecord, reading: WindowReading) -> Verdict:
        self._calm = [*self._calm, *self._since][-CALM_WINDOWS:]
        self._since = []
        log.info("directive %s is confirmed after %d windows: %s", change.directive, change.windows, change.words)
        watch_until = reading.end + timedelta(seconds=self._config.watch_s)
        return Verdict(change, Confirmation(change, reading.end, watch_until))

    def _may_act(self, reading: WindowReading) -> bool:
        """A paused agent starts no server: whoever paused it may have stopped it.

        A change that is still being undone has come after the watched one, and goes first.
        """
        if self._changes.load().in_hand is not None:
            return False
        return not (self._state.paused and reading.values.get("unreachable"))

    def _report(self, violation: Violation, reading: WindowReading, undone: ChangeRecord | None) -> None:
        undo = "" if undone is None else f"; undoing {undone.directive}: {undone.words_back}"
        log.error("the guard fired: %s%s", violation, undo)
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
        self._events.add(event)

    def _save(self) -> None:
        kept = {"calm": self._calm, "recent": self._recent, "since": self._since, "after": self._after}
        content = {name: [s.to_dict() for s in readings] for name, readings in kept.items()}
        try:
            self._state.save(WINDOWS, {**content, "firing": list(self.firing)})
        except OSError as error:  # a full disk must not prevent the undoing
            log.error("the readings cannot be stored: %s", error)


def _in_time(change: ChangeRecord, now: datetime) -> bool:
    """Where the clock was set back to before the change was made, nobody knows how long it has been active."""
    made = now if change.outcome is None else change.outcome.at
    return change.confirm_by is None or made <= now <= change.confirm_by
