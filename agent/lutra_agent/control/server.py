"""Restarts and starts the server by the operator's own commands, and waits until it accepts connections."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from lutra_agent.clock import Clock
from lutra_agent.config.types import RestartConfig
from lutra_agent.control.command import run
from lutra_agent.control.processes import works_in
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.families import family
from lutra_agent.errors import CollectionFailed, ComingUp, DatabaseUnavailable, DidNotStart, LoginRefused, NotRestarted
from lutra_agent.state.restore_progress import WayBack
from lutra_agent.state.store import State

POLL_S = 0.1
SETTLE_S = 5.0
UNTOUCHED = "was not restarted"

log = logging.getLogger(__name__)


class Control:
    """Raises DidNotStart when the server does not accept connections within the configured time.

    Raises LoginRefused when it does, but not the agent's. A paused agent starts and restarts no server, which it says
    by DidNotStart too.
    """

    def __init__(
        self,
        config: RestartConfig,
        engine: Engine,
        clock: Clock,
        state: State | None = None,
        by_operator: bool = False,
    ) -> None:
        self._config = config
        self._engine = engine
        self._clock = clock
        self._state = state
        self._by_operator = by_operator
        self.way_back = WayBack(state)

    def for_operator(self) -> Control:
        """The same at an operator's word, which no pause binds; what an earlier way back did does not count."""
        self.way_back.end()
        return Control(self._config, self._engine, self._clock, self._state, by_operator=True)

    @property
    def may_restart(self) -> bool:
        return bool(self._config.command)

    def heed_pause(self) -> None:
        """Raises DidNotStart where the agent is paused: whoever paused it may have stopped the server."""
        if self._state is not None and self._state.paused and not self._by_operator:
            raise DidNotStart("the agent is paused: it starts and restarts no server")

    def up(self) -> bool:
        """Raises LoginRefused where the server runs and does not let the agent in: it is not to be started."""
        try:
            self._engine.ping()
        except LoginRefused:
            raise
        except DatabaseUnavailable:
            return False
        return True

    def restart(self) -> None:
        self.heed_pause()
        before = self._before()
        self._engine.close()
        self._run_and_wait(self._config.command, before)

    def start(self) -> None:
        """Outside any way back."""
        self.way_back.end()
        self.bring_back(None)
        self.way_back.end()

    def bring_back(self, data_dir: Path | None) -> bool:
        """Start a server that is down; one that runs and does not answer is waited for: it may be recovering.

        Where it was not us that started it, and the waiting is in vain, it is restarted, once per way back: it may hang
        because of what its file said. False where it only came up, by the file that it read before.
        """
        self.heed_pause()
        begun, runs = self.way_back.begun, self._runs(data_dir)
        try:
            if runs:
                self._wait(f"waited {self._config.timeout_s:g} s", self._deadline(), False)
            else:
                self._begin(self._config.start_command or self._config.command)
        except DidNotStart as error:
            ours = not runs and (not self._config.start_command or self._runs(data_dir))
            if begun or ours or not self.may_restart:
                raise
            log.error("%s: restarting it, this once", error)
            try:
                self._begin(self._config.command)
            except DidNotStart as again:
                raise DidNotStart(f"{error}; {again}") from again
            return True
        return not runs

    def settle(self, left: Callable[[], list[str]]) -> list[str]:
        """What is still `left` after a moment: a reload is asynchronous."""
        deadline = self._clock.monotonic() + SETTLE_S
        while (found := left()) and self._clock.monotonic() <= deadline:
            self._clock.sleep(POLL_S)
        return found

    def _runs(self, data_dir: Path | None) -> bool:
        """Whether it is known that there is a server, on its way up perhaps, or too busy to answer."""
        try:
            self._engine.ping()
        except ComingUp:
            return True
        except DatabaseUnavailable:
            folder = self._config.data_dir or data_dir
            return folder is not None and works_in(folder, family(self._engine.family).programs)
        return True

    def _begin(self, command: Sequence[str]) -> None:
        if not command:
            raise DidNotStart("restart.start_command and restart.command are not configured")
        self.way_back.begin()
        self._run_and_wait(command)

    def _run_and_wait(self, command: Sequence[str], before: str | None = None) -> None:
        """`before`: the start of the server that is to be restarted, empty where nothing tells it."""
        deadline = self._deadline()
        status, said = self._run(command)
        told = f": {said}" if said else ""
        self._wait(f"{Path(command[0]).name} ended with {status}", deadline, status != 0, before, told)

    def _run(self, command: Sequence[str]) -> tuple[int | str, str]:
        return run(command, self._config.timeout_s)

    def _wait(self, after: str, deadline: float, failed: bool, before: str | None = None, told: str = "") -> None:
        while True:
            try:
                left = self._left(before, failed)
                if not left:
                    return
                # A command that fails has said why; one that only started the server leaves the waiting to us.
                if failed or self._clock.monotonic() > deadline:
                    kind = NotRestarted if left == UNTOUCHED else DidNotStart
                    raise kind(f"{after} and the server {left}{told}")
            except LoginRefused:  # it runs, and may let us in once its clients have come back
                if self._clock.monotonic() > deadline:
                    raise
            self._clock.sleep(POLL_S)

    def _left(self, before: str | None, failed: bool) -> str:
        """What the server does not do yet, in words. Raises LoginRefused."""
        if not self.up():
            return "does not accept connections"
        if before is None:
            return ""
        now = self._started()
        same = now == before if now and before else failed
        return UNTOUCHED if same else ""

    def _before(self) -> str | None:
        try:
            return self._started() if self.up() else None
        except LoginRefused:
            return ""

    def _started(self) -> str:
        try:
            return self._engine.started()
        except (DatabaseUnavailable, CollectionFailed):
            return ""

    def _deadline(self) -> float:
        return self._clock.monotonic() + self._config.timeout_s
