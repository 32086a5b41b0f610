"""The agent's commands, as an operator runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def agent_command(name: str, file: Path, token: str, *options: str) -> str:
    argv = [sys.executable, "-m", "lutra_agent", name, "--config", str(file), *options]
    env = {**os.environ, "LUTRA_AGENT_TOKEN": token}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
