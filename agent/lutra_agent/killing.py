"""Ends a program that took too long; one of another account (of `sudo`, say) may not be ended by the agent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Any

GONE_WITHIN_S = 5.0


def kill_group(process: subprocess.Popen[Any]) -> bool:
    """Kill what is left of its group, children that outlived their parent too. Whether the process has ended.

    It was started with a session of its own.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GONE_WITHIN_S)
    return process.returncode is not None
