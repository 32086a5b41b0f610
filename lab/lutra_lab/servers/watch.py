"""A process that outlives its parent by a moment: when the parent is gone, however it went, the server goes too.

It waits for the end of a pipe that the parent alone holds open, so SIGKILL is noticed and no pid is polled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

DISMISSED = b"d"


class Watch:
    """Runs `stop` and deletes `directory` when this process ends without `dismiss`."""

    def __init__(self, directory: Path, stop: Sequence[str]) -> None:
        reader, self._writer = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(directory), *stop],
            stdin=reader,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        os.close(reader)

    def dismiss(self) -> None:
        os.write(self._writer, DISMISSED)
        os.close(self._writer)
        self._process.wait()


def main(directory: Path, stop: Sequence[str]) -> None:
    if sys.stdin.buffer.read() == DISMISSED:
        return
    # An agent may be in the middle of a restart: stop what runs until nothing is left to be started.
    for _ in range(20):
        subprocess.run(stop, capture_output=True, cwd="/")
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
        time.sleep(0.25)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
