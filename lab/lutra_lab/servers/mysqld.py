"""A scratch server of the MySQL family: one folder, one loopback port, an account without a password there."""

from __future__ import annotations

import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from lutra_lab.errors import LabError
from lutra_lab.servers import daemon
from lutra_lab.servers.account import account
from lutra_lab.servers.daemon import Daemon
from lutra_lab.servers.postgresql import LONGEST_SOCKET, free_port
from lutra_lab.servers.watch import Watch

OURS = ("data", "tmp", "include", "server.log", "server.cnf", daemon.FILE)
FIRST_STATEMENTS = (
    "CREATE USER IF NOT EXISTS root@'127.0.0.1'",
    "GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION",
    "CREATE DATABASE sbtest",
)


class ScratchMysqld(ABC):
    """As a context manager: made and started on entry, stopped and deleted on exit.

    `port` None is a free one; `options` go into the server's own file, under what the agent writes. A process of its
    own deletes the server should this one be killed.
    """

    engine: str
    title: str
    program: str
    user = "root"
    dbname = "sbtest"
    host = "127.0.0.1"
    include_file: Path | None = None

    def __init__(self, directory: Path, port: int | None = None, options: Mapping[str, str] | None = None) -> None:
        self.directory = directory.absolute()
        self.data_dir = self.directory / "data"
        self.log = self.directory / "server.log"
        self.defaults = self.directory / "server.cnf"
        socket = self.directory / "s.sock"
        self.socket = socket if len(str(socket)) < LONGEST_SOCKET else Path(f"/tmp/lutra-{free_port()}.sock")  # noqa: S108
        self.port = port or free_port()
        self.options = dict(options or {})
        self._account = account()
        self._made = not self.directory.exists()
        self._prepare_folder()
        self._daemon = Daemon(
            tuple(self._account.command([*self.server(), f"--defaults-file={self.defaults}"])),
            self.program,
            str(self.directory / "server.pid"),
            str(self.log),
            self.port,
        )
        self._watch: Watch | None = None

    @abstractmethod
    def server(self) -> list[str]:
        """How the server's program is called."""

    @abstractmethod
    def initialise(self) -> list[str]:
        """What makes the data folder."""

    def own_options(self) -> dict[str, str]:
        return {}

    @property
    def version(self) -> str:
        said: str = self.sql("SELECT version()")
        return said

    @property
    def start_command(self) -> list[str]:
        return daemon.command("start", self.directory)

    @property
    def restart_command(self) -> list[str]:
        return daemon.command("restart", self.directory)

    @property
    def pid(self) -> int | None:
        return self._daemon.pid

    def __enter__(self) -> ScratchMysqld:
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
            self._watch = Watch(self.directory, daemon.command("kill", self.directory))
        if self.data_dir.exists():
            self._daemon.start()
            return
        self._write_files()
        self._run(self._account.command(self.initialise()))
        self._daemon.start()
        for statement in FIRST_STATEMENTS:
            self._query(statement, unix_socket=str(self.socket))

    def stop(self) -> None:
        """Stop the server; its data stay, and `start` comes back to them."""
        self._daemon.stop()

    def crash(self) -> None:
        """SIGKILL; returns when it is gone."""
        if self.pid is None:
            raise LabError(f"no server runs in {self.data_dir}")
        self._daemon.kill()

    def remove(self) -> None:
        """Stop the server and delete what was made: nothing of it is left."""
        self._daemon.kill()
        for path in (self.data_dir, self.directory / "include", self.directory / "tmp"):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.log, self.defaults, self.socket, self.directory / daemon.FILE, self.directory / "server.pid"):
            path.unlink(missing_ok=True)
        for lock in self.directory.glob("*.lock"):
            lock.unlink()
        self._daemon.kill()  # one that a restart under way had started meanwhile
        if self._made and self.directory.exists() and not any(self.directory.iterdir()):
            self.directory.rmdir()
        if self._watch is not None:
            self._watch.dismiss()
            self._watch = None

    def sql(self, statement: str) -> str:
        """The rows of a statement, unaligned. Raises LabError."""
        rows = self._query(statement, host=self.host, port=self.port, database=self.dbname)
        return "\n".join("|".join("" if v is None else str(v) for v in row) for row in rows)

    def describe(self) -> dict[str, object]:
        """What an agent's configuration file needs to know."""
        include = {"include_file": str(self.include_file)} if self.include_file else {}
        return {
            "engine": self.engine,
            "title": self.title,
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "dbname": self.dbname,
            "data_dir": str(self.data_dir),
            "version": self.version,
            "restart_command": self.restart_command,
            "start_command": self.start_command,
            **include,
        }

    def _query(self, statement: str, **where: Any) -> Sequence[tuple[Any, ...]]:
        import pymysql

        try:
            with pymysql.connect(user=self.user, autocommit=True, **where) as connection, connection.cursor() as cursor:
                cursor.execute(statement)
                rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
                return rows
        except pymysql.Error as error:
            raise LabError(f"{statement}: {error}") from error

    def _prepare_folder(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        if any(p for p in self.directory.iterdir() if p.name not in OURS):
            raise LabError(f"{self.directory} is not empty; a scratch server wants a folder of its own")
        self._account.open_way(self.directory)
        self.directory.chmod(0o755)
        self._account.own(self.directory)
        self.log.touch()
        self._account.own(self.log)
        # Two servers that share one trip over each other's temporary tables.
        (self.directory / "tmp").mkdir(mode=0o700, exist_ok=True)
        self._account.own(self.directory / "tmp")

    def _write_files(self) -> None:
        self._daemon.write(self.directory)
        ours = {
            "datadir": str(self.data_dir),
            "tmpdir": str(self.directory / "tmp"),
            "socket": str(self.socket),
            "pid_file": self._daemon.pid_file,
            "bind_address": self.host,
            "port": str(self.port),
            **self.own_options(),
            **self.options,
        }
        lines = ["[mysqld]", *(f"{name} = {value}" for name, value in ours.items())]
        if self.include_file is not None:
            self.include_file.parent.mkdir(mode=0o755, exist_ok=True)
            lines.append(f"!includedir {self.include_file.parent}")
        self.defaults.write_text("\n".join(lines) + "\n")
        self.defaults.chmod(0o644)

    def _run(self, argv: Sequence[str]) -> None:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/")
        if done.returncode != 0:
            said = (done.stdout + done.stderr).splitlines()[-15:]
            raise LabError(f"{argv[-1]}: exit {done.returncode}\n" + "\n".join(said))
