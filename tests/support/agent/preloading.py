"""Changes of a real server process's allocator under a real systemd, told as one document. Only the database is a fake.

Run as root in a systemd of one's own, with the unit's name: it writes /etc and restarts the unit.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lutra_agent
from lutra_agent.linux import allocators
from lutra_agent.linux.client import HelperProgram
from lutra_agent.linux.kernel import ALLOCATOR
from lutra_agent.linux.places import Places
from lutra_agent.linux.source import LinuxHost

from tests.support.agent.directed import Directed, directed
from tests.support.fakes.engine import FakeControl

ROOT = Path("/")
CODE = "import sys; sys.path[:0] = {folders}; from lutra_agent.linux.helper import main; main([])"
FOLDERS = [str(Path(lutra_agent.__file__).parents[1]), *filter(None, sys.path)]


class _Host(LinuxHost):
    def server_started(self) -> None:
        """systemd has restarted the process itself."""


class _Control(FakeControl):
    """Its restart is systemd's. `killed` ends the agent after it, before anything of it is recorded."""

    unit = ""
    dies = False

    def _run(self, command: Sequence[str]) -> tuple[int | str, str]:
        subprocess.run(["systemctl", "restart", self.unit], check=True)
        if self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._run(command)


def main() -> None:
    unit, places = sys.argv[1], Places()

    def process() -> int:
        shown = subprocess.run(["systemctl", "show", "-p", "MainPID", "--value", unit], capture_output=True, check=True)
        return int(shown.stdout)

    def seen() -> dict[str, Any]:
        file = places.drop_in(unit)
        return {
            "loaded": allocators.loaded(ROOT, process()),
            "file": file.read_text() if file.exists() else None,
            "folder": file.parent.exists(),
            "remembered": [p.name for p in places.memory.glob("*.json")],
        }

    def bench() -> Directed:
        made = directed(Path(tempfile.mkdtemp()), by_catalogue=False)
        helper = HelperProgram((sys.executable, "-I", "-c", CODE.format(folders=FOLDERS)))
        made.engine.host = _Host(helper, lambda: None, process, places)  # type: ignore[assignment]
        made.control = _Control(made.engine, made.clock, state=made.state)
        made.control.unit = unit
        return made

    places.unit.unlink(missing_ok=True)
    told: dict[str, Any] = {"unnamed": ALLOCATOR in bench().engine.host.read()}  # type: ignore[union-attr]
    places.unit.parent.mkdir(exist_ok=True)
    places.unit.parent.chmod(0o755)
    places.unit.write_text(f"{unit}\n")
    places.unit.chmod(0o644)
    told["before"] = seen()
    made = bench()
    outcome = made.do({ALLOCATOR: "jemalloc"})
    told["applied"] = [outcome.state, outcome.message, dict(outcome.active)], seen()
    assert made.changes.watched is not None, told["applied"]
    undone = made.executor().undo(made.changes.watched, "guardrail", "why")
    told["undone"] = [undone.state, undone.message], seen()
    told["killed"] = _killed(bench(), seen)
    print(json.dumps(told))


def _killed(made: Directed, seen: Any) -> list[Any]:
    """Whether the agent was killed, what it left, and what its next start made of that."""
    child = os.fork()
    if child == 0:
        try:
            made.control.dies = True  # type: ignore[attr-defined]
            made.do({ALLOCATOR: "jemalloc"})
        finally:
            os._exit(0)
    killed, left = os.WIFSIGNALED(os.waitpid(child, 0)[1]), seen()
    recovered = made.executor().recover()
    return [killed, left, recovered and recovered.state, seen()]


if __name__ == "__main__":
    main()
