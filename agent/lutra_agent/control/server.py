"""Restarts and starts the server by the operator's own commands, and waits until it accepts connections."""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import psutil

from lutra_agent.clock import Clock
from lutra_agent.config.types import TOKEN_VARIABLE, RestartConfig
from lutra_agent.control.downtime import Downtime
from lutra_agent.control.restore_progress import RestoreProgress
from lutra_agent.engines.common.health import Health
from lutra_agent.errors import (
    CollectionFailed,
    DatabaseUnavailable,
    DidNotStart,
    HeldDown,
    LoginRefused,
    NotRestarted,
    ServerStarting,
)
from lutra_agent.killing import kill_group
from lutra_agent.state.store import State

POLL_S = 0.1
LOOKS = 50
"""The looks within the time that a change may take: every 0.1 s for a server's 5 s, more rarely for a remote API."""
UNTOUCHED = "was not restarted"


def works_in(folder: Path, programs: Collection[str]) -> bool:
    """Whether a process of one of `programs` has its working directory here.

    A server enters its data folder before it recovers the data; it listens, and may show its number, only after that. A
    process into which this account may not look counts as none.
    """
    return any(_is(process, folder.resolve(), programs) for process in psutil.process_iter())


def _is(process: psutil.Process, folder: Path, programs: Collection[str]) -> bool:
    try:
        # A loader may stand before the program in its arguments.
        names = (process.name(), *(Path(a).name for a in process.cmdline()))  # some rewrite their arguments
        return any(name in programs for name in names) and Path(process.cwd()) == folder
    except (psutil.Error, OSError):
        return False


log = logging.getLogger(__name__)


class ServerControl:
    """Starts and restarts one server.

    Raises DidNotStart if the server does not accept connections within the configured time. Raises HeldDown if somebody
    shut it down, if another program of this host decides whether it runs, or while the agent is paused: a paused agent
    starts and restarts no server. Raises LoginRefused if the server runs and refuses the agent's login. The operator's
    commands do not see the environment variables named by `secrets`.
    """

    def __init__(
        self,
        config: RestartConfig,
        health: Health,
        clock: Clock,
        state: State | None = None,
        secrets: Collection[str] = (),
        by_operator: bool = False,
        progress: RestoreProgress | None = None,
    ) -> None:
        self._config = config
        self._health = health
        self._clock = clock
        self._state = state
        self._secrets = secrets
        self._by_operator = by_operator
        self.progress = progress or RestoreProgress()
        self._downtime = Downtime(config, health, state)

    def for_operator(self) -> ServerControl:
        """The same for an operator's own command: it works while the agent is paused, and starts a new restore.

        A later undo by the agent begins again, too: by that time the settings file has changed.
        """
        self.progress.note(None)
        return ServerControl(self._config, self._health, self._clock, self._state, self._secrets, by_operator=True)

    @property
    def may_restart(self) -> bool:
        return bool(self._config.command)

    def require_not_paused(self) -> None:
        """Raises HeldDown if the agent is paused: the operator who paused it may have stopped the server."""
        if self._state is not None and self._state.paused and not self._by_operator:
            raise HeldDown("the agent is paused: it starts and restarts no server")

    def require_not_held(self) -> None:
        """Start a server that is down. Raises HeldDown if the agent is paused, or the server was shut down."""
        self.require_not_paused()
        if not self._by_operator and (why := self._downtime.held_down()):
            raise HeldDown(why)

    def seen_up(self) -> None:
        """The server answers: an earlier command of the agent is not the cause of a later stop."""
        self._downtime.seen_up()

    def up(self) -> bool:
        """Raises LoginRefused if the server runs and refuses the agent's login: it must not be started."""
        try:
            self._health.ping()
        except LoginRefused:
            raise
        except DatabaseUnavailable:
            return False
        return True

    def restart(self) -> None:
        self.require_not_paused()
        if not self.may_restart:
            raise NotRestarted("restart.command is not configured")
        before = self._before()
        if before is None:
            self.require_not_held()
        self._health.close()
        self._run_and_wait(self._config.command, before)

    def start(self) -> None:
        """Start a server outside any restore."""
        self.progress.note(None)
        self.start_or_wait(None)
        self.progress.note(None)

    def start_or_wait(self, data_dir: Path | None, hangs: Callable[[], None] = lambda: None) -> bool:
        """Start a server that is down. Wait for one that runs and does not answer: it may be recovering.

        A server that somebody else started and that does not come up is restarted, once per restore: it may hang
        because of what its file said, and `hangs` is called before. Returns False if the server only came up, from
        the file it had read before.
        """
        self.require_not_paused()
        started, runs = self.progress.started, self.runs(data_dir)
        try:
            if runs:
                self._wait(f"waited {self._config.timeout_s:g} s", self._deadline(), False)
            else:
                self._bring_up(self._config.start_command or self._config.command)
        except HeldDown:
            raise
        except DidNotStart as error:
            ours = not runs and (not self._config.start_command or self.runs(data_dir))
            if started or ours or not self.may_restart:
                raise
            log.error("%s: restarting it, once", error)
            hangs()
            try:
                self._bring_up(self._config.command)
            except DidNotStart as again:
                raise DidNotStart(f"{error}; {again}") from again
            return True
        return not runs

    def poll_until_empty(self, left: Callable[[], list[str]], within_s: float) -> list[str]:
        """The result of `left` that remains after `within_s` seconds: a change may take effect later."""
        deadline = self._clock.monotonic() + within_s
        while (found := left()) and self._clock.monotonic() <= deadline:
            self._clock.sleep(within_s / LOOKS)
        return found

    def runs(self, data_dir: Path | None) -> bool:
        """Whether a server is known to run: it may be starting, or too busy to answer."""
        try:
            self._health.ping()
        except ServerStarting:
            return True
        except DatabaseUnavailable:
            folder = data_dir or self._config.data_dir
            return folder is not None and works_in(folder, self._health.programs)
        return True

    def _bring_up(self, command: Sequence[str]) -> None:
        if not command:
            raise DidNotStart("restart.start_command and restart.command are not configured")
        if not self._by_operator and (manager := self._downtime.manager):
            raise HeldDown(f"{manager} decides whether the server runs: the agent does not start it")
        self.progress.note("started")
        self._run_and_wait(command)

    def _run_and_wait(self, command: Sequence[str], before: str | None = None) -> None:
        """`before` identifies the start of the server that is to be restarted; empty if nothing does."""
        deadline = self._deadline()
        self._downtime.commanded()
        status, output = self._run(command)
        detail = f": {output}" if output else ""
        self._wait(f"{Path(command[0]).name} ended with {status}", deadline, status != 0, before, detail)

    def _run(self, command: Sequence[str]) -> tuple[int | str, str]:
        return run_command(command, self._config.timeout_s, self._secrets)

    def _wait(self, after: str, deadline: float, failed: bool, before: str | None = None, detail: str = "") -> None:
        while True:
            try:
                left = self._left(before, failed)
                if not left:
                    self.seen_up()
                    return
                # A command that fails has said why; one that only started the server leaves the waiting to us.
                if failed or self._clock.monotonic() > deadline:
                    kind = NotRestarted if left == UNTOUCHED else DidNotStart
                    raise kind(f"{after} and the server {left}{detail}")
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
            return self._health.started()
        except (DatabaseUnavailable, CollectionFailed):
            return ""

    def _deadline(self) -> float:
        return self._clock.monotonic() + self._config.timeout_s


_left: list[subprocess.Popen[bytes]] = []
"""The process that did not end in time and could not be killed."""


def run_command(command: Sequence[str], timeout_s: float, secrets: Collection[str] = ()) -> tuple[int | str, str]:
    """Exit status and the end of the output. The command's environment lacks the agent's token and `secrets`.

    Output goes to a file: a server that inherits a pipe would keep it open forever. Nothing is run while an earlier
    command that could not be killed is still running: two would restart a server at once.
    """
    _left[:] = [process for process in _left if process.poll() is None]
    if _left:
        return "an error", f"an earlier command (process {_left[0].pid}) still runs and the agent may not end it"
    environment = {k: v for k, v in os.environ.items() if k != TOKEN_VARIABLE and k not in secrets}
    log.info("running %s", Path(command[0]).name)
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
                cwd="/",
            )
        except OSError as error:
            return "an error", f"{command[0]}: {error.strerror}"
        try:
            status: int | str = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            status = f"no answer within {timeout_s:g} s"
            if not kill_group(process):
                _left.append(process)
                status += f" (process {process.pid} belongs to a different account and is still running)"
        output.seek(0)
        lines = output.read().decode(errors="replace").split("\n")
    return status, " | ".join(line.strip() for line in lines if line.strip())[-400:]
