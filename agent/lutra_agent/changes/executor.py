"""Executes a directive: check it, record it, apply it, verify it; and undo it when any of that fails.

The change's record is on disk before the first statement. An agent that was killed finds the change to undo there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from lutra_models.catalog import meet
from lutra_models.catalog.statements import Step
from lutra_models.errors import ApplyCode
from lutra_models.server import Server
from lutra_models.wire import Directive, Outcome

from lutra_agent.admission import past_configurations, preconditions
from lutra_agent.admission.bounds import Bounds, record_change, require_pace
from lutra_agent.admission.past_configurations import PastConfigurations
from lutra_agent.admission.preconditions import Plan
from lutra_agent.changes.outcomes import Outcomes
from lutra_agent.changes.restore import restore
from lutra_agent.changes.snapshots import baseline_steps, complete_baseline, concerned, take_snapshots
from lutra_agent.changes.verify import differences_from_target, require_settled, settle_s, was_restarted
from lutra_agent.clock import Clock
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.source import SettingSource
from lutra_agent.errors import (
    ApplyRefused,
    CollectionFailed,
    DatabaseUnavailable,
    Deferred,
    DidNotStart,
    LoginRefused,
    NotRestarted,
)
from lutra_agent.guardrails.monitor import Confirmation
from lutra_agent.state.change_events import (
    Answered,
    Applied,
    Begun,
    Confirmed,
    Restarting,
    Restored,
    UndoBegun,
    UndoPrevented,
)
from lutra_agent.state.change_machine import IllegalEvent
from lutra_agent.state.change_record import ChangeRecord, moves
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import Snapshots, active_in
from lutra_agent.state.store import State

Steps = Sequence[tuple[SettingSource, Sequence[Step]]]
"""The steps of each source, in the order of the sources."""

log = logging.getLogger(__name__)


class DirectiveExecutor:
    """One directive at a time. `read_server` reads the live server, host included; `bounds` holds at this moment."""

    def __init__(
        self,
        engine: Engine,
        state: State,
        changes: ChangeStore,
        control: ServerControl,
        clock: Clock,
        read_server: Callable[[], Server],
        bounds: Callable[[], Bounds],
    ) -> None:
        self._engine = engine
        self._state = state
        self._control = control
        self._clock = clock
        self._read_server = read_server
        self._bounds = bounds
        self._applier = Applier(engine, control, read_server)
        self._outcomes = Outcomes(clock, read_server)
        self._changes = changes

    def execute(self, directive: Directive) -> Outcome:
        """The actual outcome, whatever a server, a file or an operator does. Raises Deferred."""
        changes = self._changes.load()
        if changes.in_hand is not None:
            raise Deferred(f"{changes.in_hand.directive} has not been undone yet")
        watched = changes.watched
        if watched is not None and watched.directive == directive.id and watched.outcome is not None:
            return watched.outcome
        try:
            live, bounds, now = meet(self._read_server()), self._bounds(), self._clock.now()
            past = PastConfigurations.of(self._state, bounds.mode == "lab", watched.names if watched else ())
            plan = preconditions.make_plan(directive, live, self._engine.sources, bounds, now, past)
            if not plan.changes:
                applied = self._outcomes.make(directive.id, "applied", names=tuple(plan.target))
                return self._answer(directive, applied, supersedes=self._needs_no_confirmation(directive, plan))
            preconditions.require_able(plan, self._control)
            preconditions.require_baseline(directive, plan)
            if bounds.mode != "lab":
                require_pace(bounds.pace, self._state, plan.restart, now)
            before = take_snapshots(self._engine, live.server)
            preferred = baseline_steps(self._state, live, plan) if directive.restore else []
        except ApplyRefused as error:
            return self._answer(directive, self._outcomes.make(directive.id, "refused", error.apply_code, str(error)))
        except (DatabaseUnavailable, CollectionFailed) as error:
            return self._answer(directive, self._outcomes.make(directive.id, "failed", failure_code(error), str(error)))
        return self._change(directive, plan, before, preferred)

    def recover(self) -> Outcome | None:
        """Undo a change that an earlier run of the agent, or an earlier attempt, left incomplete; None if there is
        none.

        Raises DidNotStart, ApplyRefused and DatabaseUnavailable while the restore is impossible: try again.
        """
        record = self._changes.load().in_hand
        if record is None:
            return None
        if record.undo is None:
            code: ApplyCode = (
                ApplyCode.DID_NOT_START if record.restarted and not self._control.up() else ApplyCode.INTERNAL_ERROR
            )
            self._changes.write_or_hold(UndoBegun(record.directive, code, "the agent ended while it carried this out"))
        log.warning("directive %s: restoring the previous settings: %s", record.directive, record.words_back)
        return self._restore(record.names)

    def undo(self, change: ChangeRecord, code: ApplyCode, message: str) -> Outcome:
        """Undo the change under watch. Raises as `recover` does, which then tries again."""
        self._changes.write_or_hold(UndoBegun(change.directive, code, message))
        return self._restore(change.names)

    def confirm(self, confirmation: Confirmation) -> None:
        """From now on, the change is not undone by a timeout. The next report has this outcome."""
        change = confirmation.change
        outcome = self._outcomes.make(change.directive, "confirmed", names=change.names, moves=change.words)
        self._changes.write(Confirmed(outcome, confirmation.at, confirmation.watch_until))

    def _restore(self, names: Sequence[str]) -> Outcome:
        """Undo the change in hand; `names` are the settings that its outcome has."""
        record = self._changes.load().in_hand
        assert record is not None
        assert record.undo is not None
        # Somebody else may have restarted the server while the file had the change and nothing else.
        restart = record.restarted or was_restarted(self._engine, record.before, record.names)
        restore(self._engine, self._control, record.before, record.names, restart)
        outcome = self._outcomes.make(
            record.directive,
            "reverted",
            record.undo.code,
            record.undo.reason,
            tuple(names),
            restart,
            moves=record.words_back,
        )
        try:
            self._changes.write_or_hold(Restored(outcome))
        except IllegalEvent as error:
            log.warning("an operator's rollback came first: %s", error)
        return outcome

    def _answer(self, directive: Directive, outcome: Outcome, supersedes: bool = False) -> Outcome:
        self._changes.write(Answered(outcome, directive.measure, supersedes))
        return outcome

    def _change(self, directive: Directive, plan: Plan, before: Snapshots, preferred: Steps) -> Outcome:
        self._remember(plan, before)
        undone = concerned(plan, before)
        self._changes.write(Begun(directive.id, tuple(plan.names), undone, directive.measure, plan.texts))
        log.info("directive %s: changing %s", directive.id, moves(plan.texts))
        try:
            rounded = self._applier.apply(plan, lambda: self._changes.write(Restarting(directive.id)), preferred)
            return self._applied(directive, plan, rounded)
        except ApplyFailed as error:
            failed = error
        except OSError as error:
            failed = ApplyFailed(ApplyCode.INTERNAL_ERROR, f"the record of the change cannot be written: {error}")
        log.error("directive %s: %s: %s", directive.id, failed.code, failed)
        return self._undo_failed(directive, plan, failed)

    def _applied(self, directive: Directive, plan: Plan, rounded: str) -> Outcome:
        confirm_s = None if self._needs_no_confirmation(directive, plan) else plan.bounds.confirm_s
        names = tuple(plan.target)
        made = moves(plan.texts)
        outcome = self._outcomes.make(directive.id, "applied", None, rounded, names, plan.restart, confirm_s, made)
        self._changes.write(Applied(outcome))
        return outcome

    def _remember(self, plan: Plan, before: Snapshots) -> None:
        """What a later directive may restore; never a configuration that nobody has confirmed."""
        lab = plan.bounds.mode == "lab"
        complete_baseline(self._state, before)
        if self._changes.load().provisional is None:
            past_configurations.remember(self._state, active_in(before), lab)
        if not lab:
            record_change(self._state, plan.restart, self._clock.now())

    def _needs_no_confirmation(self, directive: Directive, plan: Plan) -> bool:
        """A lab measures its trials anyway, and a restored configuration ran before."""
        return plan.returns or plan.bounds.measures(directive)

    def _undo_failed(self, directive: Directive, plan: Plan, failed: ApplyFailed) -> Outcome:
        self._changes.write_or_hold(UndoBegun(directive.id, failed.code, str(failed)))
        try:
            return self._restore(tuple(plan.target))
        except (ApplyRefused, DidNotStart, DatabaseUnavailable, CollectionFailed) as prevented:
            # The record stays in hand: the loop tries again until the server is back.
            log.critical("directive %s could not be undone yet: %s", directive.id, prevented)
            message = f"{failed}; not yet undone: {prevented}"
            outcome = self._outcomes.make(directive.id, "failed", failed.code, message)
            self._changes.write_or_hold(UndoPrevented(outcome))
            return outcome


class ApplyFailed(Exception):
    """A change was begun and has to be undone."""

    def __init__(self, code: ApplyCode, message: str) -> None:
        super().__init__(message)
        self.code: ApplyCode = code


class Applier:
    """`read_server` reads the live server, host included.

    A change goes through the server's own source first: the server is the one that refuses, and nothing else on the
    host has changed by then. It becomes active in the reverse order, so that the server's own reload or restart finds
    everything else in place.
    """

    def __init__(self, engine: Engine, control: ServerControl, read_server: Callable[[], Server]) -> None:
        self._engine = engine
        self._control = control
        self._read_server = read_server

    def apply(self, plan: Plan, restarting: Callable[[], object], preferred: Steps) -> str:
        """The values that a source rounded, in words; empty if none. Raises ApplyFailed, and the errors of
        `restarting`.

        `restarting` is called before each restart. `preferred` are the steps to try first, if there are better ones
        than the plan's own.
        """
        own = [(part.source, part.steps(plan.restart)) for part in plan.parts]
        try:
            return self._attempt(plan, restarting, preferred or own)
        except ApplyFailed as error:
            if not preferred or preferred == own or error.code is not ApplyCode.NOT_ACTIVE_AFTER_APPLY:
                raise
            log.warning("the baseline's own texts now give different values (%s): setting the values themselves", error)
            return self._attempt(plan, restarting, own)

    def _attempt(self, plan: Plan, restarting: Callable[[], object], steps: Steps) -> str:
        """Raises ApplyFailed."""
        try:
            self._execute(plan, steps)
            if plan.restart:
                self._engine.own.activation.before_restart()
                restarting()
                self._control.restart()
            return self._verify(plan)
        except ApplyRefused as error:
            raise ApplyFailed(error.apply_code, str(error)) from error
        except NotRestarted as error:  # that says nothing of the configuration
            raise ApplyFailed(ApplyCode.INTERNAL_ERROR, str(error)) from error
        except DidNotStart as error:
            raise ApplyFailed(ApplyCode.DID_NOT_START, str(error)) from error
        except (DatabaseUnavailable, CollectionFailed) as error:
            lost = isinstance(error, DatabaseUnavailable) and not isinstance(error, LoginRefused)
            code = ApplyCode.DID_NOT_START if plan.restart and lost else failure_code(error)
            raise ApplyFailed(code, str(error)) from error

    def _execute(self, plan: Plan, steps: Steps) -> None:
        for source, own in steps:
            source.execute(own)
        for source, _ in reversed(steps):
            if not (plan.restart and source is self._engine.own):
                source.activation.reload()
        require_settled(self._control, plan.sources)

    def _verify(self, plan: Plan) -> str:
        rounded: list[str] = []

        def left() -> list[str]:
            nonlocal rounded
            unmet, rounded = differences_from_target(plan, self._read_server())
            return unmet

        if unmet := self._control.poll_until_empty(left, settle_s(plan.sources)):
            raise ApplyFailed(ApplyCode.NOT_ACTIVE_AFTER_APPLY, "; ".join(unmet))
        return "; ".join(rounded)


def failure_code(error: DatabaseUnavailable | CollectionFailed) -> ApplyCode:
    return ApplyCode.DATABASE_UNAVAILABLE if isinstance(error, DatabaseUnavailable) else ApplyCode.INTERNAL_ERROR
