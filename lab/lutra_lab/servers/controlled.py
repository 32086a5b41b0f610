"""A scratch server that brings no control program: `Daemon` starts, stops and restarts it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from lutra_lab.servers import processes
from lutra_lab.servers.base import ScratchServer, last_lines
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.ports import accepts

PATIENCE_S = 60.0
POLL_S = 0.05


class ControlledServer(ScratchServer):
    """The server reads `file`, and writes its number into `pid_file`; `control_file` says how it is started."""

    files: ClassVar[tuple[str, ...]] = ("data", "server.log", "server.conf", "server.json", "server.pid")

    @property
    @abstractmethod
    def argv(self) -> list[str]:
        """Runs the server in the foreground; the last argument is the one by which its process is known."""

    @property
    def file(self) -> Path:
        """The server's own file of settings."""
        return self.directory / "server.conf"

    @property
    def pid_file(self) -> Path:
        return self.directory / "server.pid"

    @property
    def control_file(self) -> Path:
        return self.directory / "server.json"

    @property
    def start_command(self) -> list[str]:
        return command("start", self.control_file)

    @property
    def restart_command(self) -> list[str]:
        return command("restart", self.control_file)

    @property
    def stop_command(self) -> list[str]:
        return command("stop", self.control_file)

    @property
    def arguments(self) -> tuple[str, str]:
        return self._daemon.argument, str(self.control_file)

    def stop(self) -> None:
        self._daemon.stop()

    def _start(self) -> None:
        self._daemon.start()

    def _initialise(self) -> None:
        self._daemon.write(self.control_file)

    @cached_property
    def _daemon(self) -> Daemon:
        return Daemon(tuple(self.argv), str(self.pid_file), str(self.log), self.port)


@dataclass(frozen=True)
class Daemon:
    """A server process as a file describes it. The last argument is the one by which it is known."""

    argv: tuple[str, ...]
    pid_file: str
    log: str
    port: int

    @classmethod
    def read(cls, file: Path) -> Daemon:
        content = json.loads(file.read_text())
        return cls(**{**content, "argv": tuple(content["argv"])})

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)))

    @property
    def argument(self) -> str:
        return self.argv[-1]

    def start(self) -> None:
        """Returns when the port accepts connections. Raises LabError with the end of the log if it does not."""
        if self._runs_already():
            return
        Path(self.pid_file).unlink(missing_ok=True)
        # A file and no pipe: the server inherits it, and a pipe would not end before the server does.
        with Path(self.log).open("ab") as log:
            before = log.tell()
            process = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
            )
        deadline = time.monotonic() + PATIENCE_S
        while not (accepts(self.port) and processes.named(Path(self.pid_file), self.argument)):
            if process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise LabError(
                    f"the scratch server did not start: exit {process.poll()}\n{last_lines(Path(self.log), before)}"
                )
            time.sleep(POLL_S)

    def stop(self, patience_s: float = PATIENCE_S) -> None:
        """Shut down cleanly. Raises LabError if that takes too long."""
        processes.end([self.argument], signal.SIGTERM, patience_s)

    def restart(self) -> None:
        """One that does not shut down is killed, as a service manager does; it recovers when it starts."""
        try:
            self.stop(PATIENCE_S / 2)
        except LabError:
            self.kill()
        self.start()

    def kill(self) -> None:
        processes.end([self.argument], signal.SIGKILL)

    def _runs_already(self) -> bool:
        """Whether one accepts connections; one on its way down is waited for, and killed where it stays there."""
        deadline = time.monotonic() + PATIENCE_S / 2
        while processes.having([self.argument]):
            if accepts(self.port):
                return True
            if time.monotonic() > deadline:
                self.kill()
            time.sleep(POLL_S)
        return False


def command(verb: str, file: Path) -> list[str]:
    return [sys.executable, "-m", __name__, verb, str(file)]


def main(arguments: Sequence[str]) -> None:
    verb, daemon = arguments[0], Daemon.read(Path(arguments[1]))
    verbs = {"start": daemon.start, "stop": daemon.stop, "restart": daemon.restart}
    verbs[verb]()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except LabError as error:
        sys.exit(str(error))
