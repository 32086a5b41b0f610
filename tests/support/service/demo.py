"""The demo as a command: whole, under a gentle load, and over little data."""

from __future__ import annotations

import sys
from pathlib import Path

from lutra_lab.scratch import scratch_of

from tests.support.servers.engines import installed, program
from tests.support.waiting import PATIENCE_S

LUTRA = Path(sys.executable).parent / "lutra"
GENTLE = f"""
PATIENCE_S = {PATIENCE_S}
from lutra_lab.demo import command, processes, stack, tuning
class Gently(processes.Processes):
    def wait_until(self, ready, what):
        super().wait_until(ready, what, PATIENCE_S)
    def start_and_read(self, *arguments):
        told = super().start_and_read(*arguments)
        return {{**told, "driver": {{**told["driver"], "warmup_s": 1, "rate": 100}}}}
command.ROUNDS, command.Processes = 3, Gently
processes.GRACE_S, tuning.TRIAL_TIMEOUT_S = PATIENCE_S, 3 * PATIENCE_S
"""
LITTLE = 'stack.DATA = ("--scale", "1")\n'
DEMO: list[Path | str] = [LUTRA, "demo"]
GENTLER: list[Path | str] = [sys.executable, "-c", GENTLE + "command.demo()"]
"""The same command under a load that leaves the processors idle, and in the fewest rounds that show a gain."""
SHORTER: list[Path | str] = [sys.executable, "-c", GENTLE + LITTLE + "command.demo()"]
"""And over little data."""


def loadable(engine: str) -> None:
    """Skip, or fail in CI, where this machine lacks the engine or its load."""
    installed(engine)
    needed = scratch_of(engine).lab.needs
    if needed:
        program(needed)
