"""Data for a scratch server, and a realistic load over them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lutra_lab.servers.errors import LabError


@dataclass(frozen=True)
class Load:
    """The load in words, and as an agent's `[driver]` section without the measured time."""

    description: str
    driver: Mapping[str, object]


def make_data(argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
    """Run a program that fills a server; what it prints goes to stderr. Raises LabError."""
    name = Path(argv[0]).name
    try:
        done = subprocess.run(argv, env=env, stdout=sys.stderr)
    except OSError as error:
        raise LabError(f"{name}: {error.strerror}") from error
    if done.returncode != 0:
        raise LabError(f"{name} could not fill the server: exit {done.returncode}")
