"""Restarts and starts the server by the operator's own commands, and waits until it accepts connections."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lutra_agent.clock import Clock
from lutra_agent.config import RestartConfig
from lutra_agent.engines import FAMILIES
from lutra_agent.engines.base import Engine
from lutra_agent.errors import DatabaseUnavailable, DidNotStart, LoginRefused

POLL_S = 0.1
SECRETS = ("LUTRA_AGENT_TOKEN", *(name for family in FAMILIES for name in family.secrets))

log = logging.getLogger(__name__)


class Control:
    """Raises DidNotStart when the server does not accept connections within the configured time.

    Raises LoginRefused when it does, but not the agent's.
    """

    def __init__(self, config: RestartConfig, engine: Engine, clock: Clock) -> None:
        self._config = config
        self._engine = engine
        self._clock = clock

    @property
    def may_restart(self) -> bool:
        return bool(self._config.command)

    @property
    def may_start(self) -> bool:
        return bool(self._config.command or self._config.start_command)

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
        self._engine.close()
        self._run_and_wait(self._config.command)

    def start(self) -> None:
        """Start a server that is down, or one that hangs on its way up."""
        problems = []
        for command in filter(None, (self._config.start_command, self._config.command)):
            try:
                return self._run_and_wait(command)
            except DidNotStart as error:
                problems.append(str(error))
        raise DidNotStart("; ".join(problems) or "restart.start_command and restart.command are not configured")

    def _run_and_wait(self, command: Sequence[str]) -> None:
        deadline = self._clock.monotonic() + self._config.timeout_s
        status, said = _run(command, self._config.timeout_s)
        while True:
            refused = None
            try:
                if self.up():
                    return
            except LoginRefused as error:  # it runs, and may let us in once its clients have come back
                refused = error
            # A command that fails has said why; one that only started the server leaves the waiting to us.
            if (status != 0 and refused is None) or self._clock.monotonic() > deadline:
                break
            self._clock.sleep(POLL_S)
        if refused is not None:
            raise refused
        told = f": {said}" if said else ""
        raise DidNotStart(
            f"{Path(command[0]).name} ended with {status} and the server does not accept connections{told}"
        )


def _run(command: Sequence[str], timeout_s: float) -> tuple[int | str, str]:
    """Exit status and last words. Output goes to a file: a server that inherits a pipe would keep it open for ever."""
    environment = {k: v for k, v in os.environ.items() if k not in SECRETS}
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
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = f"no answer within {timeout_s:g} s"
        output.seek(0)
        lines = output.read().decode(errors="replace").split("\n")
    return status, " | ".join(line.strip() for line in lines if line.strip())[-400:]
