"""A scratch PostgreSQL: one folder, one loopback port, trusted there; stopped and deleted with whoever started it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import psutil

from lutra_lab.errors import LabError
from lutra_lab.servers import binaries
from lutra_lab.servers.account import account
from lutra_lab.servers.watch import Watch

LONGEST_SOCKET = 90
"""A Unix socket's path ends at some 104 bytes; past this a server listens on TCP alone."""


class ScratchPostgres:
    """As a context manager: made and started on entry, stopped and deleted on exit.

    `bin_dir` None is the embedded PostgreSQL 18; `port` None a free one; `options` go into postgresql.conf, where
    ALTER SYSTEM overrides them. A process of its own deletes the server should this one be killed.
    """

    user = "postgres"
    dbname = "postgres"
    host = "127.0.0.1"

    def __init__(
        self,
        directory: Path,
        bin_dir: Path | None = None,
        port: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory.absolute()
        self.data_dir = self.directory / "data"
        self.log = self.directory / "server.log"
        self.port = port or free_port()
        self.options = dict(options or {})
        self._account = account()
        self._made = not self.directory.exists()
        self._prepare_folder()
        self.bin_dir = binaries.reachable(bin_dir or binaries.embedded(), self._account, self.directory)
        self.version = binaries.version(self.bin_dir)
        self._watch: Watch | None = None

    @property
    def start_command(self) -> list[str]:
        return self._control("start")

    @property
    def restart_command(self) -> list[str]:
        return self._control("restart", "-m", "fast")

    @property
    def pid(self) -> int | None:
        """The postmaster's, where it runs. A dead one's file may name a zombie, or a stranger that got its number."""
        try:
            pid = int((self.data_dir / "postmaster.pid").read_text().split()[0])
            process = psutil.Process(pid)
            runs = process.status() != psutil.STATUS_ZOMBIE and process.name() in ("postgres", "postmaster")
        except (FileNotFoundError, IndexError, psutil.NoSuchProcess):
            return None
        return pid if runs else None

    def __enter__(self) -> ScratchPostgres:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def start(self) -> None:
        """Start the server, made first where there is none. Raises LabError with the end of its log."""
        if self._watch is None:
            self._watch = Watch(self.directory, self._control("stop", "-m", "immediate"))
        if not (self.data_dir / "PG_VERSION").exists():
            self._initialise()
        self._run(self.start_command)

    def stop(self) -> None:
        """Stop the server; its data stay, and `start` comes back to them."""
        if self.pid is not None:
            self._run(self._control("stop", "-m", "fast"))

    def crash(self) -> None:
        """SIGKILL to the postmaster; returns when it and its children are gone."""
        pid = self.pid
        if pid is None:
            raise LabError(f"no server runs in {self.data_dir}")
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 30
        # A zombie still holds its number, and the next server would take it for a rival.
        while self._accepts() or psutil.pid_exists(pid):
            if time.monotonic() > deadline:
                raise LabError(f"the server in {self.data_dir} survived SIGKILL for 30 s")
            time.sleep(0.05)

    def remove(self) -> None:
        """Stop the server and delete what was made: nothing of it is left."""
        if self.pid is not None:
            subprocess.run(
                self._control("stop", "-m", "immediate"), env=environment(), cwd=self.directory, capture_output=True
            )
        for path in (self.data_dir, self.directory / "installation"):
            shutil.rmtree(path, ignore_errors=True)
        self.log.unlink(missing_ok=True)
        if self._made and self.directory.exists() and not any(self.directory.iterdir()):
            self.directory.rmdir()
        if self._watch is not None:
            self._watch.dismiss()
            self._watch = None

    def psql(self, sql: str, dbname: str | None = None) -> str:
        """The rows of a statement, unaligned. Raises LabError."""
        import psycopg

        with psycopg.connect(self.conninfo(dbname), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            rows = cursor.fetchall() if cursor.description else []
        return "\n".join("|".join("" if v is None else str(v) for v in row) for row in rows)

    def conninfo(self, dbname: str | None = None) -> str:
        return f"host={self.host} port={self.port} user={self.user} dbname={dbname or self.dbname}"

    def url(self, dbname: str | None = None) -> str:
        """As SQLAlchemy spells it."""
        return f"postgresql+psycopg://{self.user}@{self.host}:{self.port}/{dbname or self.dbname}"

    def describe(self) -> dict[str, object]:
        """What an agent's configuration file needs to know."""
        return {
            "engine": "postgresql",
            "title": "PostgreSQL",
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "dbname": self.dbname,
            "data_dir": str(self.data_dir),
            "bin_dir": str(self.bin_dir),
            "version": self.version,
            "restart_command": self.restart_command,
            "start_command": self.start_command,
        }

    def _prepare_folder(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        if any(p for p in self.directory.iterdir() if p.name not in ("data", "server.log", "installation")):
            raise LabError(f"{self.directory} is not empty; a scratch server wants a folder of its own")
        self._account.open_way(self.directory)
        self.directory.chmod(0o755)
        self._account.own(self.directory)
        self.log.touch()
        self._account.own(self.log)

    def _initialise(self) -> None:
        self.data_dir.mkdir(mode=0o700, exist_ok=True)
        self._account.own(self.data_dir)
        locale = ["--encoding=UTF8", "--locale=C"]
        self._run(
            self._account.command(
                [str(self.bin_dir / "initdb"), "-D", str(self.data_dir), "-U", self.user, "-A", "trust", "-N", *locale]
            )
        )
        sockets = str(self.data_dir) if len(str(self.data_dir)) < LONGEST_SOCKET else ""
        ours = {"listen_addresses": self.host, "port": str(self.port), "unix_socket_directories": sockets}
        with (self.data_dir / "postgresql.conf").open("a") as file:
            for name, value in {**ours, **self.options}.items():
                file.write("{} = '{}'\n".format(name, value.replace("'", "''")))

    def _control(self, verb: str, *more: str) -> list[str]:
        where = ["-D", str(self.data_dir), "-w", "-t", "60", "-s"]
        log = [] if verb == "stop" else ["-l", str(self.log)]
        return self._account.command([str(self.bin_dir / "pg_ctl"), verb, *where, *log, *more])

    def _run(self, argv: Sequence[str]) -> None:
        # A file and no pipe: the server inherits it, and a pipe would not end before the server does.
        with self.log.open("ab") as log:
            before = log.tell()
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(), cwd=self.directory
            )
        if done.returncode != 0:
            said = self.log.read_bytes()[before:].decode(errors="replace").splitlines()[-15:]
            raise LabError(f"the scratch server in {self.data_dir}: exit {done.returncode}\n" + "\n".join(said))

    def _accepts(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((self.host, self.port)) == 0


def environment() -> dict[str, str]:
    """Ours without what would steer PostgreSQL's programs elsewhere."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PG") and k != "LC_ALL"} | {"LC_ALL": "C"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
