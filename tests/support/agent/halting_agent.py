"""`lutra-agent run` with a halt: `halting_agent.py STATEMENTS FOLDER CONFIG`.

After the first STATEMENTS of its first change it makes FOLDER/reached and waits for FOLDER/go, so that a test can let
anything happen in between: kill this very process, or the server, fill its disk, take the account's rights away.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lutra_agent.commands.agent_file import load
from lutra_agent.engines.common.health import Health
from lutra_agent.engines.common.source import SettingSource, Step
from lutra_agent.engines.families import family
from lutra_agent.runtime.compose import running


class Halts:
    """A setting source that halts once."""

    def __init__(self, source: SettingSource, health: Health, steps: int, folder: Path) -> None:
        self._source = source
        self._health = health
        self._steps = steps
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def execute(self, steps: Sequence[Step]) -> None:
        if (self._folder / "reached").exists():
            return self._source.execute(steps)
        self._source.execute(steps[: self._steps])
        self._health.close()  # what an account may do is settled when it connects
        (self._folder / "reached").touch()
        while not (self._folder / "go").exists():
            time.sleep(0.02)
        return self._source.execute(steps[self._steps :])


if __name__ == "__main__":
    made = load(Path(sys.argv[3]))
    opened = family(made.database.engine).open(made.database)
    halts = Halts(opened.own, opened.health, int(sys.argv[1]), Path(sys.argv[2]))
    engine = replace(opened, sources=(halts,))  # type: ignore[arg-type]
    with running(made, engine=engine) as loop:
        loop.run()
