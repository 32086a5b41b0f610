"""The demo as a command: whole, and over little data."""

from __future__ import annotations

import sys
from pathlib import Path

LUTRA = Path(sys.executable).parent / "lutra"
SHORT = """
from lutra_lab.demo import command, processes, stack
class Gently(processes.Processes):
    def start_and_read(self, *arguments):
        told = super().start_and_read(*arguments)
        return {**told, "driver": {**told["driver"], "warmup_s": 1, "rate": 100}}
stack.DATA, command.REPETITIONS, command.Processes = ("--scale", "1"), 1, Gently
command.demo()
"""
DEMO: list[Path | str] = [LUTRA, "demo"]
SHORTER: list[Path | str] = [sys.executable, "-c", SHORT]
"""The same command over little data, a load that leaves the processors idle, and nothing measured twice."""
