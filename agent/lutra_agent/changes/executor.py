"""Executes a directive: check it, journal it, apply it, verify it; and undo it when any of that fails.

The journal is on disk before the first statement and gone after the outcome is recorded. An agent that was killed in
between finds it at its next start and restores what was active before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from lutra_models.catalog import LiveSettings, meet
from lutra_models.server import Server
from lutra_models.wire import ApplyCode, Directive, Outcome

from lutra_agent.admission import pace, past_configurations, preconditions
from lutra_agent.admission.bounds import Bounds
from lutra_agent.admission.past_configurations import PastConfigurations
from lutra_agent.admission.preconditions import Plan
from lutra_agent.changes.apply import Applier, ApplyFailed, failure_code
from lutra_agent.changes.outcomes import Outcomes
from lutra_agent.changes.restore import baseline_statements, restore, take_snapshot
from lutra_agent.clock import Clock
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.source import Step
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, Deferred, DidNotStart
from lutra_agent.state import provisional
from lutra_agent.state.journal import JOURNAL, Journal
from lutra_agent.state.outbox import Outbox
from lutra_agent.state.provisional import Provisional
from lutra_agent.state.snapshot import BASELINE, Snapshot
from lutra_agent.state.store import State

log = logging.getLogger(__name__)


class DirectiveExecutor:
    """One directive at a time. `read_server` reads the live server, host included; `bounds` holds at this moment."""

    def __init__(
        self,
        engine: Engine,
        state: State,
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
        self._outcomes = Outcomes(state, clock, read_server)
        self._outbox = Outbox(state)

    def execute(self, directive: Directive) -> Outcome:
        """What really happened, whatever a server, a file or an operator may do. Raises Deferred."""
        open_journal = Journal.load(self._state)
        if open_journal is not None:  # the next change's journal would overwrite it
            raise Deferred(f"{open_journal.directive} is still to be undone")
        try:
            live, bounds, now = meet(self._read_server()), self._bounds(), self._clock.now()
            past = PastConfigurations.of(self._state, bounds.mode == "lab")
            plan = preconditions.make_plan(directive, live, bounds, now, past)
            if not plan.changes:
                applied = self._outcomes.make(directive.id, "applied", names=tuple(plan.target))
                return self._superseding(directive, plan, self._outcomes.record(applied))
            preconditions.require_able(plan, self._engine.sources, self._control)
            preconditions.require_baseline(directive, plan, bounds)
            if bounds.mode != "lab":
                pace.require(bounds.pace, self._state, plan.restart, now)
            before = take_snapshot(self._engine, live.server)
            preferred = self._baseline_statements(live, plan) if directive.restore else []
        except ApplyRefused as error:
            return self._outcomes.record(self._outcomes.make(directive.id, "refused", error.apply_code, str(error)))
        except (DatabaseUnavailable, CollectionFailed) as error:
            return self._outcomes.record(self._outcomes.make(directive.id, "failed", failure_code(error), str(error)))
        return self._change(directive, plan, before, preferred)

    def recover(self) -> Outcome | None:
        """Undo what an earlier run of the agent, or an earlier attempt, left half done; None where nothing was.

        Raises DidNotStart, ApplyRefused and DatabaseUnavailable while the restore is impossible: the journal stays,
        try again.
        """
        journal = Journal.load(self._state)
        if journal is None:
            return None
        code, message = journal.failure
        recorded = self._state.recorded_outcome(journal.directive)
        if recorded is not None and (not message or recorded.outcome.state == "reverted"):
            self._state.forget(JOURNAL)
            return None
        log.warning("directive %s: restoring what was active before", journal.directive)
        guessed: ApplyCode = "did_not_start" if journal.was_restarting and not self._control.up() else "internal_error"
        return self._undo_journaled(journal, code or guessed, message or "the agent ended while it carried this out")

    def undo(self, change: Provisional, code: ApplyCode, message: str) -> Outcome:
        """Undo a change that is provisional, or was not long ago. Raises as `recover` does, which then tries again."""
        journal = Journal(self._state, change.directive, change.names, Snapshot.from_dict(change.snapshot))
        try:
            if change.restarted:
                journal.restarting()
            journal.failed(code, message)
        except OSError as error:  # the agent's own disk is full: that must not prevent the restore
            log.error("the journal cannot be written: %s", error)
        return self._undo_journaled(journal, code, message)

    def confirm(self, change: Provisional) -> None:
        """From now on no lapse of time undoes the change. The next report holds this outcome."""
        self._outbox.add_outcome(
            self._outcomes.record(self._outcomes.make(change.directive, "confirmed", names=change.names))
        )
        change.keep(self._state)

    def _undo_journaled(self, journal: Journal, code: ApplyCode, message: str) -> Outcome:
        restore(self._engine, self._control, journal.before, journal.names, journal.was_restarting)
        outcome = self._outcomes.make(
            journal.directive, "reverted", code, message, tuple(journal.names), restarted=journal.was_restarting
        )
        change = provisional.find(self._state)
        if change is not None and change.directive == journal.directive:
            # The service knows it as applied and will not ask again: the outbox keeps the outcome until a report does.
            self._outbox.add_outcome(outcome)
            provisional.forget(self._state)
        return self._outcomes.commit(outcome)

    def _baseline_statements(self, live: LiveSettings, plan: Plan) -> list[Step]:
        return baseline_statements(self._engine, self._state, live, plan.changes, plan.restart)

    def _change(self, directive: Directive, plan: Plan, before: Snapshot, preferred: list[Step]) -> Outcome:
        self._remember(plan, before)
        journal = Journal.begin(self._state, directive.id, plan.names, before)
        try:
            rounded = self._applier.apply(plan, journal, preferred)
        except ApplyFailed as error:
            log.error("directive %s: %s: %s", directive.id, error.code, error)
            return self._undo_failed(directive, plan, before, journal, error)
        outcome = self._outcomes.make(
            directive.id, "applied", message=rounded, names=tuple(plan.target), restarted=plan.restart
        )
        committed = self._outcomes.commit(self._provisional(directive, plan, before, outcome))
        return self._superseding(directive, plan, committed)

    def _remember(self, plan: Plan, before: Snapshot) -> None:
        """What a later directive may restore; never a configuration that nobody has confirmed."""
        lab = self._bounds().mode == "lab"
        if self._state.load(BASELINE) is None:
            self._state.save(BASELINE, before.to_dict())
        if provisional.unconfirmed(self._state) is None:
            past_configurations.remember(self._state, before.active, lab)
        if not lab:
            pace.record(self._state, plan.restart, self._clock.now())

    def _needs_no_confirmation(self, directive: Directive, plan: Plan) -> bool:
        """A lab measures its trials anyway, and a restored configuration ran before."""
        return plan.returns or self._bounds().measures(directive)

    def _provisional(self, directive: Directive, plan: Plan, before: Snapshot, outcome: Outcome) -> Outcome:
        if self._needs_no_confirmation(directive, plan):
            return outcome
        confirm_by = outcome.at + timedelta(seconds=self._bounds().confirm_s)
        Provisional(directive.id, tuple(plan.names), before.to_dict(), plan.restart, outcome.at, confirm_by).keep(
            self._state
        )
        return outcome.model_copy(update={"confirm_by": confirm_by})

    def _superseding(self, directive: Directive, plan: Plan, outcome: Outcome) -> Outcome:
        """An earlier change is no longer provisional once an operator has undone it, or a lab has gone on from it.

        Called when the outcome is recorded: until then this directive may be undone itself.
        """
        if self._needs_no_confirmation(directive, plan):
            provisional.forget(self._state)
        return outcome

    def _undo_failed(
        self, directive: Directive, plan: Plan, before: Snapshot, journal: Journal, error: ApplyFailed
    ) -> Outcome:
        journal.failed(error.code, str(error))
        try:
            restore(self._engine, self._control, before, plan.names, journal.was_restarting)
        except (ApplyRefused, DidNotStart, DatabaseUnavailable, CollectionFailed) as prevented:
            # The journal stays: the loop tries again until the server is back.
            log.critical("directive %s could not be undone yet: %s", directive.id, prevented)
            message = f"{error}; not yet undone: {prevented}"
            return self._outcomes.record(self._outcomes.make(directive.id, "failed", error.code, message))
        return self._outcomes.commit(
            self._outcomes.make(
                directive.id, "reverted", error.code, str(error), tuple(plan.target), restarted=journal.was_restarting
            )
        )
