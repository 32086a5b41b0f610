"""The reason why a server is down: somebody shut it down, it crashed, or the agent's own command failed.

The last state of the server is on disk: an agent that starts while the server is down can report it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import psutil
from pydantic import BaseModel, Field, ValidationError

from lutra_agent.config.types import RestartConfig
from lutra_agent.engines.common.health import Health, Traces
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable
from lutra_agent.files.atomic import opened_regular
from lutra_agent.linux.units import service_states
from lutra_agent.state.store import State

DOCUMENT = "server"
MANAGERS = ("pacemakerd",)
"""Programs that manage servers of any kind."""
SYSTEMCTL = "systemctl"
MOST_OF_LOG = 16 << 20
"""The number of bytes that are read of a server's log since a command."""
LEFT_DOWN = "the agent does not start it"


class Seen(BaseModel):
    """`running` and `listening` existed while the server was up; `starts` are times of files, `log_bytes` is the length
    of the log. `ours`: a command of the agent's own began to start or to restart the server, which has not been seen up
    since.
    """

    running: Annotated[tuple[Path, ...], Field(max_length=10)] = ()
    listening: Annotated[tuple[Path, ...], Field(max_length=10)] = ()
    starts: dict[Path, int | None] = {}
    log: Path | None = None
    ready: Annotated[str, Field(max_length=100)] = ""
    log_bytes: int | None = None
    ours: bool = False

    @property
    def traces(self) -> Traces:
        return Traces(self.running, self.listening, tuple(self.starts), self.log, self.ready)

    @property
    def started_since(self) -> bool:
        """Whether a start has succeeded since."""
        return any(_written(path) not in (before, None) for path, before in self.starts.items()) or self._logged_since

    @property
    def _logged_since(self) -> bool:
        """A log that another one has replaced says nothing."""
        if self.log is None or not self.ready or self.log_bytes is None:
            return False
        try:
            with opened_regular(self.log) as file:
                file.seek(self.log_bytes)
                return self.ready.encode() in file.read(MOST_OF_LOG)
        except OSError:
            return False

    def at_command(self) -> Seen:
        """The same traces when the agent's own command begins."""
        starts = {path: _written(path) for path in self.starts}
        return self.model_copy(update={"ours": True, "starts": starts, "log_bytes": _length(self.log)})


class Downtime:
    """`config` names the unit that runs the server, if its commands are systemctl's."""

    def __init__(self, config: RestartConfig, health: Health, state: State | None) -> None:
        self._unit = _unit(config.start_command) or _unit(config.command)
        self._health = health
        self._state = state
        self._seen: Seen | None = None

    def seen_up(self) -> None:
        """The server answers."""
        try:
            traces = self._health.traces()
        except CollectionFailed:
            traces = (self._last() or Seen()).traces
        except DatabaseUnavailable:
            return
        running, listening = (tuple(filter(os.path.lexists, paths)) for paths in (traces.running, traces.listening))
        starts = {path: _written(path) for path in traces.starts}
        self._keep(Seen(running=running, listening=listening, starts=starts, log=traces.log, ready=traces.ready))

    def commanded(self) -> None:
        """The agent's own command follows: until the server is seen up again, that command is the reason why it is
        down.
        """
        seen = self._last() or Seen()
        self._keep(seen.at_command())

    def held_down(self) -> str:
        """The reason why the server is held down, in words; empty if it crashed, or does not start with its settings.

        If a shutdown cannot be distinguished from a crash, a server that has been up since the agent's own last command
        counts as shut down: starting it could create a second primary.
        """
        seen = self._last()
        ours = seen is not None and seen.ours
        shut_down = None if seen is None else self._health.was_shut_down(seen.traces)
        if ours and not (shut_down and seen is not None and seen.started_since):
            return ""
        if self._unit is not None:
            unit, (loaded, active, result) = self._unit[1], service_states(*self._unit)
            if loaded == "masked" or active == "deactivating" or (active, result) == ("inactive", "success"):
                return f"the unit {unit} is {'masked' if loaded == 'masked' else active}: {LEFT_DOWN}"
            if active == "failed" and result != "timeout":  # one that took too long to stop was to stop
                return ""
        if seen is None or shut_down is False:
            return ""
        found = "somebody shut the server down" if shut_down else "nothing shows that the server crashed"
        return f"{found}: {LEFT_DOWN}"

    @property
    def manager(self) -> str:
        """The program that decides whether the server runs, if there is one on this host."""
        names = (*self._health.managers, *MANAGERS)
        return next((name for process in psutil.process_iter() if (name := _called(process, names))), "")

    def _keep(self, seen: Seen) -> None:
        if seen == self._last():
            return
        self._seen = seen
        if self._state is not None:
            self._state.save_or_hold(DOCUMENT, seen.model_dump(mode="json"))

    def _last(self) -> Seen | None:
        if self._seen is None and self._state is not None:
            content = self._state.load(DOCUMENT)
            try:
                self._seen = None if content is None else Seen.model_validate(content)
            except ValidationError:
                self._seen = None
        return self._seen


def _unit(command: Sequence[str]) -> tuple[str, str] | None:
    """The program systemctl in a command, and the one unit that it starts or restarts."""
    found = next((i for i, word in enumerate(command) if Path(word).name == SYSTEMCTL), None)
    words = [] if found is None else [word for word in command[found + 1 :] if not word.startswith("-")]
    return None if found is None or len(words) != 2 else (command[found], words[1])


def _called(process: psutil.Process, names: Sequence[str]) -> str:
    try:
        # An interpreter may stand before the program in its arguments.
        told = (process.name(), *(Path(word).name for word in process.cmdline()[:2]))
    except psutil.Error:
        return ""
    return next((f"{name} (process {process.pid})" for name in names if name in told), "")


def _length(path: Path | None) -> int | None:
    try:
        return None if path is None else path.stat().st_size
    except OSError:
        return None


def _written(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
