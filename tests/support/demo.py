"""The demo as a command: whole, and over little data."""

from __future__ import annotations

import sys
from pathlib import Path

LUTRA = Path(sys.executable).parent / "lutra"
SHORT = """
from lutra_lab.demo import command, stack
stack.DATA, command.ROUNDS = ("--scale", "1"), 3
command.demo()
"""
DEMO: list[Path | str] = [LUTRA, "demo"]
SHORTER: list[Path | str] = [sys.executable, "-c", SHORT]
"""The same command over little data, with the fewest rounds that tell a gain."""
