"""A real pika as a scratch server, for tests alone: the program that LUTRA_PIKA_BIN names."""

from __future__ import annotations

import os
import re

from lutra_lab.servers.controlled import ControlledServer
from lutra_lab.servers.loads import Load

from tests.support.pika.scratch import RecordedPika

PROGRAM = os.environ.get("LUTRA_PIKA_BIN", "")
BEGIN = 'echo $$ >"$0"; PATH="$1:$PATH"; shift; exec "$@"'
"""It writes a process-id file as a daemon alone."""
NO_RSYNC = """#!/bin/sh
for word; do case $word in --config=*) file=${word#*=};; esac; done
echo 4194305 >"$(sed -n 's/^pid file = //p' "$file")"
"""
"""In place of the one that it starts, which would listen on every address: no process has this number."""
NEEDED = {
    "daemonize": "no",
    "databases": "1",
    "db-instance-num": "3",
    "maxclients": "10000",
    "timeout": "60",
    "root-connection-num": "2",
    "slowlog-log-slower-than": "10000",
}
"""Without `databases`, and from 4.0 on `db-instance-num`, it ends. Of what else its file lacks it makes 0, or what its
memory happens to hold.
"""
FOLDERS = {"log": "log", "db": "db", "dump": "dump", "db-sync": "dbsync"}
OPTIONS = {n: n.replace("-", "_") for n in ("write-buffer-size", "arena-block-size", "max-write-buffer-number")}


class RealPika(RecordedPika):
    title = "pika"
    files = (*RecordedPika.files, "log", "dump", "dbsync", "programs")

    @property
    def argv(self) -> list[str]:
        programs = str(self.directory / "programs")
        return ["/bin/sh", "-c", BEGIN, str(self.pid_file), programs, PROGRAM, "-c", str(self.file)]

    def _initialise(self) -> None:
        ControlledServer._initialise(self)
        self.data_dir = self.directory / "db"
        self._own_folder(self.data_dir)
        programs = self.directory / "programs"
        programs.mkdir()
        (programs / "rsync").write_text(NO_RSYNC)
        (programs / "rsync").chmod(0o755)
        folders = {f"{name}-path": f"{self.directory}/{folder}/" for name, folder in FOLDERS.items()}
        given = {"port": str(self.port), "network-interface": "lo", **NEEDED, **folders, **self.options}
        self.file.write_text("# pika.conf\n" + "".join(f"{name} : {value}\n" for name, value in given.items()))

    def load(self, scale: int) -> Load:
        """As the cliff was measured."""
        driver = {"kind": "redis-benchmark", "clients": 50, "writes": 1.0, "keys": 10_000_000, "data_size": 512}
        return Load("sets by 50 clients", {**driver, "warmup_s": 1, "duration_s": 3})

    def engines_own(self) -> dict[str, str]:
        """By RocksDB's log, which tells what it began with and each value that it was given since."""
        logs = (self.data_dir / "db0" / folder / "LOG" for folder in ("strings", "0"))
        text = next(log for log in logs if log.exists()).read_text(errors="replace")
        return {name: re.findall(rf"\b{option}: (\d+)", text)[-1] for name, option in OPTIONS.items()}
