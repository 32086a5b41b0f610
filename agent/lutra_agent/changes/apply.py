"""Makes a planned change active, and verifies it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from lutra_models.catalog.statements import Step
from lutra_models.errors import ApplyCode
from lutra_models.server import Server

from lutra_agent.admission.preconditions import Plan
from lutra_agent.changes.verify import differences_from_target, require_settled, settle_s
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.source import SettingSource
from lutra_agent.errors import (
    ApplyRefused,
    CollectionFailed,
    DatabaseUnavailable,
    DidNotStart,
    LoginRefused,
    NotRestarted,
)

log = logging.getLogger(__name__)


Steps = Sequence[tuple[SettingSource, Sequence[Step]]]
"""The steps of each source, in the order of the sources."""


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
