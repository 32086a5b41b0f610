"""A scratch server: in one folder, on one loopback port, gone with whoever started it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lutra_lab.servers.base import LabOptions, Session
from lutra_lab.servers.controlled import ControlledServer
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.loads import Load

PROGRAM = "toykvd.py"
KEYS_PER_SCALE = 512


class ScratchToykv(ControlledServer):
    """`options` go into the operator's file; `programs` is another folder of the server's program."""

    engine = "toykv"
    title = "toy key-value server"
    user = "nobody"
    dbname = ""
    files = (*ControlledServer.files, "host.conf")
    lab = LabOptions(scale="Fill it with 512 times as many keys.", example=4)

    @classmethod
    def find(cls, programs: Path | None = None) -> Path:
        folder = programs or Path(__file__).parents[1] / "server"
        if not (folder / PROGRAM).exists():
            raise LabError(f"the toy server is not installed in {folder}")
        return folder

    @property
    def argv(self) -> list[str]:
        # It does not mind being root, so no other account is needed.
        return [sys.executable, str(self.programs / PROGRAM), str(self.file)]

    @property
    def version(self) -> str:
        return dict(line.split("|", 1) for line in self.sql("STATS").splitlines())["version"]

    @contextmanager
    def session(self, dbname: str | None = None) -> Iterator[Session]:
        try:
            connection = socket.create_connection((self.host, self.port), 10)
        except OSError as error:
            raise LabError(str(error)) from error

        def run(command: str) -> str:
            file.write(f"{command}\n")
            file.flush()
            status, _, rest = file.readline().rstrip("\n").partition(" ")
            if status != "OK":
                raise LabError(f"{command}: {rest}")
            return "\n".join(file.readline().rstrip("\n").replace(" ", "|") for _ in range(int(rest)))

        with connection, connection.makefile("rw") as file:
            try:
                yield run
            except OSError as error:
                raise LabError(str(error)) from error

    def fill(self, scale: int) -> None:
        with self.session() as run:
            for key in range(scale * KEYS_PER_SCALE):
                run(f"PUT k{key} v")

    def load(self, scale: int) -> Load:
        self.fill(scale)
        keys = scale * KEYS_PER_SCALE
        return Load(
            f"{keys} keys, read and written by 4 clients",
            {"kind": "toykv", "keys": keys, "clients": 4, "warmup_s": 1},
        )

    def _initialise(self) -> None:
        super()._initialise()
        self._own_folder(self.data_dir)
        given = {"port": str(self.port), **self.options}
        self.file.write_text("".join(f"{name} = {value}\n" for name, value in given.items()))
