"""Runs the operator's own command, without a shell and without the agent's secrets."""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from lutra_agent.config.types import TOKEN_VARIABLE
from lutra_agent.killing import kill_group

log = logging.getLogger(__name__)
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
