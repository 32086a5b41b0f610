"""Starts, stops and restarts a scratch server that brings no control program of its own.

`python -m lutra_lab.servers.daemon start|stop|kill|restart DIR` reads DIR/server.json: the server's argument list, its
process-id file, its log and its port on loopback.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from lutra_lab.errors import LabError

FILE = "server.json"
PATIENCE_S = 60.0
POLL_S = 0.05
LAST_LINES = 15


@dataclass(frozen=True)
class Daemon:
    """A server process as a file describes it."""

    argv: tuple[str, ...]
    program: str
    pid_file: str
    log: str
    port: int

    @classmethod
    def read(cls, directory: Path) -> Daemon:
        content = json.loads((directory / FILE).read_text())
        return cls(**{**content, "argv": tuple(content["argv"])})

    def write(self, directory: Path) -> None:
        (directory / FILE).write_text(json.dumps(asdict(self)))

    @property
    def pid(self) -> int | None:
        """The server's, where it runs. A dead one's file may name a zombie, or a stranger that got its number."""
        try:
            pid = int(Path(self.pid_file).read_text().split()[0])
            process = psutil.Process(pid)
            runs = process.status() != psutil.STATUS_ZOMBIE and self.program in " ".join(process.cmdline())
        except (OSError, IndexError, ValueError, psutil.NoSuchProcess):
            return None
        return pid if runs else None

    def start(self) -> None:
        """Returns when the port accepts connections. Raises LabError with the end of the log where it does not."""
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
        while not (accepts(self.port) and self.pid is not None):
            if process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                said = Path(self.log).read_bytes()[before:].decode(errors="replace").splitlines()[-LAST_LINES:]
                raise LabError(f"{self.program} did not start: exit {process.poll()}\n" + "\n".join(said))
            time.sleep(POLL_S)

    def stop(self, patience_s: float = PATIENCE_S) -> None:
        """Shut down cleanly. Raises LabError where that takes too long."""
        self._end(signal.SIGTERM, patience_s)

    def restart(self) -> None:
        """One that does not shut down is killed, as a service manager does; it recovers when it starts."""
        try:
            self.stop(PATIENCE_S / 2)
        except LabError:
            self.kill()
        self.start()

    def kill(self) -> None:
        self._end(signal.SIGKILL, PATIENCE_S)

    def _runs_already(self) -> bool:
        """Whether one accepts connections; one on its way down is waited for, and killed where it stays there."""
        deadline = time.monotonic() + PATIENCE_S / 2
        while self._processes():
            if accepts(self.port):
                return True
            if time.monotonic() > deadline:
                self.kill()
            time.sleep(POLL_S)
        return False

    def _processes(self) -> list[psutil.Process]:
        """The server's by its own argument: one that shuts down has deleted its process-id file and works on."""
        return [p for p in psutil.process_iter(["cmdline"]) if self.argv[-1] in (p.info["cmdline"] or ()) and _runs(p)]

    def _end(self, number: signal.Signals, patience_s: float) -> None:
        processes = self._processes()
        if not processes:
            return
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        deadline = time.monotonic() + patience_s
        while any(_runs(p) for p in processes) or accepts(self.port):
            if time.monotonic() > deadline:
                told = ", ".join(str(p.pid) for p in processes)
                raise LabError(f"{self.program} (process {told}) survived {number.name} for {patience_s:g} s")
            time.sleep(POLL_S)
        for process in processes:
            _reap(process.pid)


def _reap(pid: int) -> None:
    """A zombie of ours still holds its number, and the next server would take it for a rival."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def command(verb: str, directory: Path) -> list[str]:
    return [sys.executable, "-m", __name__, verb, str(directory)]


def main(arguments: Sequence[str]) -> None:
    verb, daemon = arguments[0], Daemon.read(Path(arguments[1]))
    verbs = {"start": daemon.start, "stop": daemon.stop, "kill": daemon.kill, "restart": daemon.restart}
    verbs[verb]()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except LabError as error:
        sys.exit(str(error))
