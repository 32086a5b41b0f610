"""A process that outlives its parent by a moment: when the parent is gone, however it went, the server goes too.

It waits for the end of a pipe that the parent alone holds open, so SIGKILL is noticed and no pid is polled. It reads no
file of the server's: it finds and ends the server even after the folder was deleted.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from lutra_lab.servers.errors import LabError
from lutra_lab.servers.remains import Remains

DISMISSED = "dismissed"
ROUNDS = 20


class Watch:
    """Clears these remains away when this process ends without `dismiss`."""

    def __init__(self, remains: Remains) -> None:
        reader, self._writer = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=reader,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        os.close(reader)
        # Not among the watch's own arguments: it would find itself.
        where = [str(remains.directory), remains.patterns, remains.arguments]
        self._tell([*where, int(remains.number), remains.made])

    def dismiss(self) -> None:
        self._tell(DISMISSED)
        os.close(self._writer)
        self._process.wait()

    def _tell(self, what: object) -> None:
        os.write(self._writer, json.dumps(what).encode() + b"\n")


def main() -> None:
    told = [json.loads(line) for line in sys.stdin]
    if not told or told[-1] == DISMISSED:
        return
    directory, patterns, arguments, number, made = told[0]
    remains = Remains(Path(directory), tuple(patterns), tuple(arguments), signal.Signals(number), made)
    for _ in range(ROUNDS):
        try:
            remains.clear()
            return
        except LabError:
            continue


if __name__ == "__main__":
    main()
