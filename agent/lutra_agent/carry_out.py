"""Carries out a directive: check, journal, change, verify; and takes it back when any of that fails.

The journal is on disk before the first statement and gone after the answer is. An agent that was killed in between
finds it at its next start and goes back to what was active before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from lutra_models.catalog import load
from lutra_models.catalog.facts import Server
from lutra_models.knobs import Value
from lutra_models.wire import ApplyCode, Directive, Outcome

from lutra_agent import checks, guard
from lutra_agent.clock import Clock
from lutra_agent.control import Control
from lutra_agent.engines.base import Engine, Statement
from lutra_agent.errors import ApplyRefused, DatabaseUnavailable, DidNotStart
from lutra_agent.guard import Snapshot
from lutra_agent.state import State

JOURNAL = "journal"
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

    def directive(self, directive: Directive) -> Outcome:
        """What really happened. Never raises for what a server, a file or an operator may do."""
        try:
            server = self._look()
            good = guard.find(self._state, guard.LAST_KNOWN_GOOD)
            found = checks.plan(directive, server, self._bounds(), self._clock.now(), good)
            if found.changes:
                checks.able(found, self._engine, self._control)
        except ApplyRefused as error:
            return self._answered(self._outcome(directive.id, "refused", error.apply_code, str(error)))
        except DatabaseUnavailable as error:
            return self._answered(self._outcome(directive.id, "failed", "database_unavailable", str(error)))
        if not found.changes:
            return self._answered(self._outcome(directive.id, "applied", names=tuple(found.target)))
        words = guard.former_words(self._engine, self._state, server, found.changes) if directive.restore else []
        return self._change(directive, found, guard.take(self._engine, server), words)

    def recover(self) -> Outcome | None:
        """Finish what an earlier run of the agent, or an earlier attempt, left half done; None where nothing was.

        Raises DidNotStart and DatabaseUnavailable while the way back is barred: the journal stays, try again.
        """
        journal = self._state.load(JOURNAL)
        if journal is None:
            return None
        answer = self._state.answer(journal["directive"])
        if answer is not None and not journal["failed"]:
            self._state.forget(JOURNAL)
            return None
        snapshot, names = Snapshot.from_dict(journal["snapshot"]), journal["names"]
        down = not self._control.up()
        log.warning("directive %s was left half done: going back", journal["directive"])
        guard.go_back(self._engine, self._control, snapshot, names, journal["restarting"])
        guessed: ApplyCode = "did_not_start" if down and journal["restarting"] else "internal_error"
        code: ApplyCode = journal["code"] or guessed
        message = journal["failed"] or "the agent ended while it carried this out"
        return self._finished(self._outcome(journal["directive"], "reverted", code, message, tuple(names)))

    def _change(self, directive: Directive, found: checks.Plan, before: Snapshot, words: list[Statement]) -> Outcome:
        """`words`: the statements to try first, where there are better ones than the plain."""
        if self._state.load(guard.BASELINE) is None:
            self._state.save(guard.BASELINE, before.to_dict())
        journal = _Journal(self._state, directive.id, found.names, before)
        try:
            rounded = self._make_active(found, journal, words)
            return self._finished(
                self._outcome(
                    directive.id, "applied", message=rounded, names=tuple(found.target), restarted=found.restart
                )
            )
        except Failed as error:
            log.error("directive %s: %s: %s", directive.id, error.code, error)
            return self._take_back(directive, found, before, journal, error)

    def _make_active(self, found: checks.Plan, journal: _Journal, words: list[Statement]) -> str:
        """What the server made of it where that is not what was asked, in words. Raises Failed."""
        plain = [s for c in found.changes for s in self._engine.change(c)]
        try:
            return self._tried(found, journal, words or plain)
        except Failed as error:
            if not words or words == plain or error.code != "not_active_after_apply":
                raise
            log.warning("what the file said before gives other values by now (%s): setting them", error)
            return self._tried(found, journal, plain)

    def _tried(self, found: checks.Plan, journal: _Journal, statements: list[Statement]) -> str:
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
        except DidNotStart as error:
            raise Failed("did_not_start", str(error)) from error
        except DatabaseUnavailable as error:
            code: ApplyCode = "did_not_start" if found.restart else "database_unavailable"
            raise Failed(code, str(error)) from error

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
        self, directive: Directive, found: checks.Plan, before: Snapshot, journal: _Journal, error: Failed
    ) -> Outcome:
        journal.failed(error)
        try:
            guard.go_back(self._engine, self._control, before, found.names, journal.was_restarting)
        except (ApplyRefused, DidNotStart, DatabaseUnavailable) as barred:
            # The journal stays: the loop tries again until the server is back.
            log.critical("directive %s could not be taken back yet: %s", directive.id, barred)
            message = f"{error}; not yet taken back: {barred}"
            return self._answered(self._outcome(directive.id, "failed", error.code, message))
        return self._finished(
            self._outcome(
                directive.id, "reverted", error.code, str(error), tuple(found.target), restarted=journal.was_restarting
            )
        )

    def _outcome(
        self,
        directive: str,
        state: str,
        code: ApplyCode | None = None,
        message: str = "",
        names: tuple[str, ...] = (),
        restarted: bool = False,
    ) -> Outcome:
        return Outcome.model_validate(
            {
                "directive": directive,
                "state": state,
                "code": code,
                "message": message[:1000],
                "active": self._active(names),
                "restarted": restarted,
                "at": self._clock.now(),
            }
        )

    def _active(self, names: tuple[str, ...]) -> dict[str, Value]:
        if not names:
            return {}
        try:
            server = self._look()
        except DatabaseUnavailable:
            return {}
        return dict(load(server.engine).read(server).restrict(names))

    def _finished(self, outcome: Outcome) -> Outcome:
        self._answered(outcome)
        self._state.forget(JOURNAL)
        return outcome

    def _answered(self, outcome: Outcome) -> Outcome:
        self._state.remember(outcome)
        told = " ".join(filter(None, (outcome.state, outcome.code, outcome.message)))
        log.info("directive %s: %s", outcome.directive, told)
        return outcome


class _Journal:
    """What is being changed, on disk from before the first statement."""

    def __init__(self, state: State, directive: str, names: list[str], before: Snapshot) -> None:
        self._state = state
        self._content: dict[str, Any] = {
            "directive": directive,
            "names": names,
            "snapshot": before.to_dict(),
            "restarting": False,
            "failed": "",
            "code": None,
        }
        self._save()

    @property
    def was_restarting(self) -> bool:
        return bool(self._content["restarting"])

    def restarting(self) -> None:
        self._content["restarting"] = True
        self._save()

    def failed(self, error: Failed) -> None:
        self._content |= {"failed": str(error), "code": error.code}
        self._save()

    def _save(self) -> None:
        self._state.save(JOURNAL, self._content)
