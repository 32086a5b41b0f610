"""Carries out a directive: check, journal, change, verify; and takes it back when any of that fails.

The journal is on disk before the first statement and gone after the answer is. An agent that was killed in between
finds it at its next start and goes back to what was active before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from lutra_models.catalog.facts import Server
from lutra_models.wire import ApplyCode, Directive, Outcome

from lutra_agent import checks, guard, known, pace, provisional
from lutra_agent.answers import Answers
from lutra_agent.clock import Clock
from lutra_agent.control import Control
from lutra_agent.engines.base import Engine, Statement
from lutra_agent.errors import (
    ApplyRefused,
    CollectionFailed,
    DatabaseUnavailable,
    DidNotStart,
    LoginRefused,
    NotRestarted,
    NotYet,
)
from lutra_agent.guard import Snapshot
from lutra_agent.journal import JOURNAL, Journal
from lutra_agent.known import Known
from lutra_agent.outbox import Outbox
from lutra_agent.provisional import Provisional
from lutra_agent.state import State

SETTLE_S = 5.0
POLL_S = 0.1

log = logging.getLogger(__name__)


class Failed(Exception):
    """A change that was begun and has to be taken back."""

    def __init__(self, code: ApplyCode, message: str) -> None:
        super().__init__(message)
        self.code: ApplyCode = code


class CarryOut:
    """One directive at a time. `look` reads the server, host included."""

    def __init__(
        self,
        engine: Engine,
        state: State,
        control: Control,
        clock: Clock,
        look: Callable[[], Server],
        bounds: Callable[[], checks.Bounds],
    ) -> None:
        self._engine = engine
        self._state = state
        self._control = control
        self._clock = clock
        self._look = look
        self._bounds = bounds
        self._answers = Answers(state, clock, look)
        self._outbox = Outbox(state)

    def directive(self, directive: Directive) -> Outcome:
        """What really happened, whatever a server, a file or an operator may do. Raises NotYet."""
        waiting = Journal.found(self._state)
        if waiting is not None:  # its way back would be lost under the next one's
            raise NotYet(f"{waiting.directive} is still to be undone")
        try:
            server, bounds, now = self._look(), self._bounds(), self._clock.now()
            had = Known.of(self._state, bounds.mode == "lab")
            found = checks.plan(directive, server, bounds, now, had)
            if not found.changes:
                applied = self._answers.outcome(directive.id, "applied", names=tuple(found.target))
                return self._superseding(directive, found, self._answers.keep(applied))
            checks.able(found, self._engine, self._control)
            checks.due(directive, found, bounds)
            if bounds.mode != "lab":
                pace.heed(bounds.pace, self._state, found.restart, now)
            before = guard.take(self._engine, server)
            words = self._former_words(server, found) if directive.restore else []
        except ApplyRefused as error:
            return self._answers.keep(self._answers.outcome(directive.id, "refused", error.apply_code, str(error)))
        except (DatabaseUnavailable, CollectionFailed) as error:
            return self._answers.keep(self._answers.outcome(directive.id, "failed", _code(error), str(error)))
        return self._change(directive, found, before, words)

    def recover(self) -> Outcome | None:
        """Finish what an earlier run of the agent, or an earlier attempt, left half done; None where nothing was.

        Raises DidNotStart, ApplyRefused and DatabaseUnavailable while the way back is barred: the journal stays, try
        again.
        """
        journal = Journal.found(self._state)
        if journal is None:
            return None
        code, message = journal.failure
        answer = self._state.answer(journal.directive)
        if answer is not None and (not message or answer.outcome.state == "reverted"):
            self._state.forget(JOURNAL)
            return None
        log.warning("directive %s: going back", journal.directive)
        guessed: ApplyCode = "did_not_start" if journal.was_restarting and not self._control.up() else "internal_error"
        return self._gone_back(journal, code or guessed, message or "the agent ended while it carried this out")

    def take_back(self, change: Provisional, code: ApplyCode, message: str) -> Outcome:
        """Undo a change that is provisional, or was not long ago. Raises as `recover` does, which then tries again."""
        journal = Journal(self._state, change.directive, change.names, Snapshot.from_dict(change.snapshot))
        try:
            if change.restarted:
                journal.restarting()
            journal.failed(code, message)
        except OSError as error:  # the agent's own disk is full: that must not bar the way back
            log.error("the journal cannot be written: %s", error)
        return self._gone_back(journal, code, message)

    def confirm(self, change: Provisional) -> None:
        """Nothing takes it back by the lapse of time any more; the next report tells it."""
        self._outbox.add_outcome(
            self._answers.keep(self._answers.outcome(change.directive, "confirmed", names=change.names))
        )
        change.keep(self._state)

    def _gone_back(self, journal: Journal, code: ApplyCode, message: str) -> Outcome:
        guard.go_back(self._engine, self._control, journal.before, journal.names, journal.was_restarting)
        outcome = self._answers.outcome(
            journal.directive, "reverted", code, message, tuple(journal.names), restarted=journal.was_restarting
        )
        change = provisional.find(self._state)
        if change is not None and change.directive == journal.directive:
            # It was told as applied, so that nobody asks for it again: kept until a report holds it.
            self._outbox.add_outcome(outcome)
            provisional.forget(self._state)
        return self._answers.finish(outcome)

    def _former_words(self, server: Server, found: checks.Plan) -> list[Statement]:
        return guard.former_words(self._engine, self._state, server, found.changes, found.restart)

    def _change(self, directive: Directive, found: checks.Plan, before: Snapshot, words: list[Statement]) -> Outcome:
        """`words`: the statements to try first, where there are better ones than the plain."""
        self._remember(found, before)
        journal = Journal.begun(self._state, directive.id, found.names, before)
        try:
            rounded = self._make_active(found, journal, words)
        except Failed as error:
            log.error("directive %s: %s: %s", directive.id, error.code, error)
            return self._take_back(directive, found, before, journal, error)
        outcome = self._answers.outcome(
            directive.id, "applied", message=rounded, names=tuple(found.target), restarted=found.restart
        )
        finished = self._answers.finish(self._provisional(directive, found, before, outcome))
        return self._superseding(directive, found, finished)

    def _remember(self, found: checks.Plan, before: Snapshot) -> None:
        """What a later directive may lead back to; never a configuration that nobody has confirmed."""
        lab = self._bounds().mode == "lab"
        if self._state.load(guard.BASELINE) is None:
            self._state.save(guard.BASELINE, before.to_dict())
        if provisional.unconfirmed(self._state) is None:
            known.remember(self._state, before.active, lab)
        if not lab:
            pace.note(self._state, found.restart, self._clock.now())

    def _settled(self, directive: Directive, found: checks.Plan) -> bool:
        """A trial in a lab is measured anyway, and a way back leads to what ran before: nobody has to confirm these."""
        return found.returns or self._bounds().measures(directive)

    def _provisional(self, directive: Directive, found: checks.Plan, before: Snapshot, outcome: Outcome) -> Outcome:
        if self._settled(directive, found):
            return outcome
        confirm_by = outcome.at + timedelta(seconds=self._bounds().confirm_s)
        Provisional(directive.id, tuple(found.names), before.to_dict(), found.restart, outcome.at, confirm_by).keep(
            self._state
        )
        return outcome.model_copy(update={"confirm_by": confirm_by})

    def _superseding(self, directive: Directive, found: checks.Plan, outcome: Outcome) -> Outcome:
        """What an operator took back, or a lab goes on from, is nobody's to confirm any more.

        Called when the outcome is kept: until then the directive may be undone itself.
        """
        if self._settled(directive, found):
            provisional.forget(self._state)
        return outcome

    def _make_active(self, found: checks.Plan, journal: Journal, words: list[Statement]) -> str:
        """What the server made of it where that is not what was asked, in words. Raises Failed."""
        plain = [s for c in found.changes for s in self._engine.change(c, found.restart)]
        try:
            return self._tried(found, journal, words or plain)
        except Failed as error:
            if not words or words == plain or error.code != "not_active_after_apply":
                raise
            log.warning("what the file said before gives other values by now (%s): setting them", error)
            return self._tried(found, journal, plain)

    def _tried(self, found: checks.Plan, journal: Journal, statements: list[Statement]) -> str:
        """Raises Failed."""
        try:
            self._engine.execute(statements)
            if found.restart:
                journal.restarting()
                self._control.restart()
            else:
                self._engine.reload()
            return self._verify(found)
        except ApplyRefused as error:
            raise Failed(error.apply_code, str(error)) from error
        except NotRestarted as error:  # that says nothing of the configuration
            raise Failed("internal_error", str(error)) from error
        except DidNotStart as error:
            raise Failed("did_not_start", str(error)) from error
        except (DatabaseUnavailable, CollectionFailed) as error:
            lost = isinstance(error, DatabaseUnavailable) and not isinstance(error, LoginRefused)
            raise Failed("did_not_start" if found.restart and lost else _code(error), str(error)) from error

    def _verify(self, found: checks.Plan) -> str:
        # A reload is asynchronous: the values arrive a moment later.
        deadline = self._clock.monotonic() + SETTLE_S
        while True:
            unmet, rounded = checks.verify(found.target, found.names, self._look(), self._engine.rounds)
            if not unmet:
                return "; ".join(rounded)
            if self._clock.monotonic() > deadline:
                raise Failed("not_active_after_apply", "; ".join(unmet))
            self._clock.sleep(POLL_S)

    def _take_back(
        self, directive: Directive, found: checks.Plan, before: Snapshot, journal: Journal, error: Failed
    ) -> Outcome:
        journal.failed(error.code, str(error))
        try:
            guard.go_back(self._engine, self._control, before, found.names, journal.was_restarting)
        except (ApplyRefused, DidNotStart, DatabaseUnavailable, CollectionFailed) as barred:
            # The journal stays: the loop tries again until the server is back.
            log.critical("directive %s could not be undone yet: %s", directive.id, barred)
            message = f"{error}; not yet undone: {barred}"
            return self._answers.keep(self._answers.outcome(directive.id, "failed", error.code, message))
        return self._answers.finish(
            self._answers.outcome(
                directive.id, "reverted", error.code, str(error), tuple(found.target), restarted=journal.was_restarting
            )
        )


def _code(error: DatabaseUnavailable | CollectionFailed) -> ApplyCode:
    return "database_unavailable" if isinstance(error, DatabaseUnavailable) else "internal_error"
