"""A scratch server: in one folder, on one loopback port, gone with whoever started it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lutra_lab.servers import daemon
from lutra_lab.servers.base import LabOptions, ScratchServer, Session
from lutra_lab.servers.daemon import Daemon
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.loads import Load

PROGRAM = "toykvd.py"
KEYS_PER_SCALE = 512


class ScratchToykv(ScratchServer):
    """`options` go into the operator's file; `programs` is another folder of the server's program."""

    engine = "toykv"
    title = "toy key-value server"
    user = "nobody"
    dbname = ""
    files = ("data", "server.log", "server.json", "server.pid", "server.conf", "host.conf")
    lab = LabOptions(scale="Fill it with 512 times as many keys.", example=4)

    def __init__(
        self,
        directory: Path,
        port: int | None = None,
        options: Mapping[str, str] | None = None,
        programs: Path | None = None,
    ) -> None:
        super().__init__(directory, port, options, programs)
        self.file = self.directory / "server.conf"
        # It does not mind being root, so no other account is needed.
        argv = (sys.executable, str(self.programs / PROGRAM), str(self.file))
        self._daemon = Daemon(argv, str(self.pid_file), str(self.log), self.port)

    @classmethod
    def find(cls, programs: Path | None = None) -> Path:
        folder = programs or Path(__file__).parents[1] / "server"
        if not (folder / PROGRAM).exists():
            raise LabError(f"the toy server is not installed in {folder}")
        return folder

    @property
    def version(self) -> str:
        return dict(line.split("|", 1) for line in self.sql("STATS").splitlines())["version"]

    @property
    def start_command(self) -> list[str]:
        return daemon.command("start", self.control_file)

    @property
    def restart_command(self) -> list[str]:
        return daemon.command("restart", self.control_file)

    @property
    def stop_command(self) -> list[str]:
        return daemon.command("stop", self.control_file)

    @property
    def pid_file(self) -> Path:
        return self.directory / "server.pid"

    @property
    def control_file(self) -> Path:
        return self.directory / "server.json"

    @property
    def arguments(self) -> tuple[str, ...]:
        return str(self.file), str(self.control_file)

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

    def _start(self) -> None:
        self._daemon.start()

    def stop(self) -> None:
        self._daemon.stop()

    def _initialise(self) -> None:
        self._own_folder(self.data_dir)
        self._daemon.write(self.control_file)
        given = {"port": str(self.port), **self.options}
        self.file.write_text("".join(f"{name} = {value}\n" for name, value in given.items()))
