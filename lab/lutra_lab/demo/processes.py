"""The three processes of a demo (scratch server, service, agent): started, watched, and gone afterwards."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

GRACE_S = 30.0
POLL_S = 0.2
PR_SET_PDEATHSIG = 1


class DemoFailed(RuntimeError):
    """A part of the demo did not start or ended early; the message contains its last output."""


def command(name: str) -> str:
    """The full path of one of the product's commands, from this very environment."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise DemoFailed(f"{path} is missing: install the distribution with `{name}` (`make setup` does)")
    return str(path)


class Processes:
    """Child processes in groups of their own, stopped in the reverse order of their start.

    Each writes its output to `<folder>/<name>.log`; a process that ends early raises DemoFailed with the log's end.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: list[tuple[str, subprocess.Popen[bytes], IO[bytes]]] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave half of them running
        try:
            while self._running:
                _stop(*self._running.pop()[1:])
        finally:
            signal.signal(signal.SIGINT, previous)

    def start(self, name: str, argv: list[str], env: Mapping[str, str] | None = None, **popen: Any) -> None:
        log = (self.folder / f"{name}.log").open("wb")
        popen = {"stdout": log, "stderr": log, **popen}
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            start_new_session=True,
            preexec_fn=_ends_with_parent,  # the demo has no threads that could hold a lock meanwhile
            **popen,
        )
        self._running.append((name, process, log))

    def start_and_read(self, name: str, argv: list[str], say: Callable[[str], None]) -> dict[str, Any]:
        """Start a process that prints one JSON line when it is ready, and return that line; meanwhile print its output.

        Raises DemoFailed if it ends before.
        """
        self.start(name, argv, stdout=subprocess.PIPE)
        process = self._running[-1][1]
        assert process.stdout is not None
        while not select.select([process.stdout], [], [], POLL_S)[0]:
            said = self.tail(name, 1).strip()
            if said:
                say(f"starting the {name}: {said}")
        line = process.stdout.readline()
        if not line:
            process.wait(GRACE_S)
            self.check()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def check(self) -> None:
        """Raise DemoFailed if a process has ended."""
        for name, process, _ in self._running:
            if process.poll() is not None:
                raise DemoFailed(f"the {name} ended with status {process.returncode}:\n{self.tail(name)}")

    def tail(self, name: str, lines: int = 12) -> str:
        text = (self.folder / f"{name}.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def wait_until(self, ready: Callable[[], bool], what: str, within_s: float = 60.0) -> None:
        """Poll `ready` until it holds. Raises DemoFailed when a process ends or the time is over."""
        deadline = time.monotonic() + within_s
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                raise DemoFailed(f"{what} did not happen within {within_s:.0f} s")
            time.sleep(POLL_S)


def _ends_with_parent() -> None:
    """Have the kernel end this process when its parent is gone, however it went; only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
    log.close()
