"""`lutra-agent run` with a halt: `halting_agent.py STATEMENTS FOLDER CONFIG`.

After the first STATEMENTS of its first change it makes FOLDER/reached and waits for FOLDER/go, so that a test can let
anything happen in between: kill this very process, or the server, fill its disk, take the account's rights away.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lutra_agent.config.agent_file import load
from lutra_agent.engines.common.engine import Engine, Statement
from lutra_agent.engines.families import family
from lutra_agent.runtime.compose import running


class Halts:
    """An engine that halts once."""

    def __init__(self, engine: Engine, statements: int, folder: Path) -> None:
        self._engine = engine
        self._statements = statements
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def execute(self, statements: Sequence[Statement]) -> None:
        if (self._folder / "reached").exists():
            return self._engine.execute(statements)
        self._engine.execute(statements[: self._statements])
        self._engine.close()  # what an account may do is settled when it connects
        (self._folder / "reached").touch()
        while not (self._folder / "go").exists():
            time.sleep(0.02)
        return self._engine.execute(statements[self._statements :])


if __name__ == "__main__":
    made = load(Path(sys.argv[3]))
    engine = Halts(family(made.database.engine).open(made.database), int(sys.argv[1]), Path(sys.argv[2]))
    with running(made, engine=engine) as loop:  # type: ignore[arg-type]
        loop.run()
