"""Runs the operator's own command, without a shell and without the agent's secrets."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from lutra_agent.config.types import TOKEN_VARIABLE

log = logging.getLogger(__name__)


def run_command(command: Sequence[str], timeout_s: float, secrets: Collection[str] = ()) -> tuple[int | str, str]:
    """Exit status and the end of the output. The command's environment lacks the agent's token and `secrets`.

    Output goes to a file: a server that inherits a pipe would keep it open for ever.
    """
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
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = f"no answer within {timeout_s:g} s"
        output.seek(0)
        lines = output.read().decode(errors="replace").split("\n")
    return status, " | ".join(line.strip() for line in lines if line.strip())[-400:]
