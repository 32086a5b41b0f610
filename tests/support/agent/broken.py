"""A real agent process beside a real server, for a test that breaks one of them half-way through a change."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_agent.state.store import State
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError
from lutra_models.wire import GuardEvent, Outcome

from tests.support.agent import halting_agent
from tests.support.agent.processes import agent_process, document, guards, write_toml
from tests.support.conformance.engine import ran_with
from tests.support.fakes.service import FakeService
from tests.support.servers.subjects import subject_of
from tests.support.waiting import until


@dataclass
class Halted:
    """An agent that waits after the first statements of a change."""

    process: subprocess.Popen[bytes]
    folder: Path

    def go(self) -> None:
        (self.folder / "go").touch()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Scene:
    """What stood before the fault, and whether it stands again."""

    def __init__(self, server: ScratchServer, service: FakeService, folder: Path, **database: Any) -> None:
        self.server = server
        self.service = service
        self.folder = folder
        self.made = document(
            server, service.url, folder / "state", database=database, guard={**guards(), "confirm_windows": 1}
        )
        self.subject = subject_of(server, folder / "unused", **database)
        self.remember()

    def remember(self) -> None:
        """This is the configuration to come back to."""
        self.before, self.file = self.subject.kept_settings(), self.subject.file()
        self.path = self.subject.path
        self.subject.engine.health.close()

    def ran_with(self, settings: Mapping[str, Any]) -> None:
        """The agent's disk says that the server ran so once: how a fault gets past the memory check."""
        ran_with(State(self.folder / "state"), self.subject.read_server(), settings)
        self.subject.engine.health.close()

    def agent(self, mode: str = "lab", **sections: Mapping[str, Any]) -> AbstractContextManager[Any]:
        """The agent as an operator runs it."""
        return agent_process(self._toml(mode, **sections))

    @contextmanager
    def halted(self, statements: int, settings: Mapping[str, Any], **more: Any) -> Iterator[Halted]:
        """An agent that is given a change and has carried out the first `statements` of it."""
        program = (halting_agent.__file__, str(statements), str(self.folder))
        with agent_process(self._toml(), program=program) as process:
            self.service.offer("rec_1", dict(settings), restart_allowed=True, **more)
            until(lambda: (self.folder / "reached").exists() or self.outcomes())
            assert not self.outcomes(), self.outcomes()
            yield Halted(process, self.folder)

    def back(self) -> Outcome:
        """The server comes up and everything is as before; what is told of the change in the end."""
        until(self.as_before)
        found: Outcome = until(lambda: next((o for o in self.outcomes() if o.state == "reverted"), None))
        assert self.as_before()
        return found

    def as_before(self) -> bool:
        try:
            now = self.subject.kept_settings()
        except LabError:
            return False
        return now == self.before and self.file_as_before()

    def file_as_before(self) -> bool:
        """Asks nothing of the server, so that whoever waits for it is no load."""
        return self._file() == self.file

    def outcomes(self, identifier: str = "rec_1") -> list[Outcome]:
        return [o for r in self.service.reports for o in r.outcomes if o.directive == identifier]

    def events(self) -> list[GuardEvent]:
        return [e for r in self.service.reports for e in r.events]

    def windows(self) -> int:
        return sum(r.window is not None for r in self.service.reports)

    def hanging_restart(self, stops_it: bool) -> list[str]:
        """A restart command that gets stuck half-way, and tells its process id in the folder's file `hanging`."""
        told = self.folder / "hanging"
        first = self.server.stop_command if stops_it else ["true"]
        return _script(f'"$@"; echo $$ >{told}.new; mv {told}.new {told}; exec sleep 300', first)

    def killing_restart(self, on_its_way: str) -> list[str]:
        """A restart command that kills the server on its way `down` or `up`, once."""
        pid, once = self.server.pid_file, self.folder / "killed"
        stop = " ".join(f"'{word}'" for word in self.server.stop_command)
        start = " ".join(f"'{word}'" for word in self.server.start_command)
        up = f"{stop}; {start} & until [ -s {pid} ]; do sleep 0.01; done; "
        kill = f"kill -KILL $(head -n 1 {pid}); wait; exit 1"
        killed = f"{up if on_its_way == 'up' else ''}{kill}"
        return _script(f'if mkdir {once} 2>/dev/null; then {killed}; fi; exec "$@"', self.server.restart_command)

    def _file(self) -> bytes | None:
        assert self.path is not None
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def _toml(self, mode: str = "lab", **sections: Mapping[str, Any]) -> Path:
        laid = {"agent": {"mode": mode}, **sections}
        made = {**self.made, **{name: {**self.made[name], **values} for name, values in laid.items()}}
        return write_toml(self.folder / "agent.toml", made)


def _script(text: str, arguments: Sequence[str]) -> list[str]:
    return ["sh", "-c", text, "sh", *arguments]
