"""The interface of scratch servers: a database server in one folder, on one loopback port, which ends with the process
that started it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import psutil

from lutra_lab.servers import processes
from lutra_lab.servers.account import account
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.loads import Load
from lutra_lab.servers.ports import LOOPBACK, free_port
from lutra_lab.servers.remains import Remains
from lutra_lab.servers.watch import Watch

LAST_LINES = 15
Session = Callable[[str], str]
"""The rows of a statement, unaligned: a row a line, its fields with bars between them."""


@dataclass(frozen=True)
class LabOptions:
    """Options of `lutra-agent lab ENGINE` beyond those of every engine.

    `scale` explains --scale; `example` is the scale at which the data are several times the server's default cache.
    `server` are lines for the server's file, under the user's. `programs` is the name of the option, and its help, that
    takes another installation's programs; `needs` is a program that makes the load and does not come with the server.
    """

    scale: str
    example: int
    server: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[str, str] | None = None
    needs: str | None = None


class ScratchServer(ABC):
    """As a context manager: made and started on entry, stopped and deleted on exit.

    `port` None is a free one; `options` go into the server's own file, under what the agent writes; `programs` is a
    folder with another installation's. A process of its own deletes the server should this one be killed.

    An implementation says how its programs are called. It is one class and a line in `lutra_lab.scratch.SCRATCH`, and
    passes the suite in tests/integration/lab/test_scratch_servers.py.
    """

    engine: ClassVar[str]
    title: ClassVar[str]
    user: ClassVar[str]
    dbname: ClassVar[str]
    files: ClassVar[tuple[str, ...]] = ("data", "server.log")
    """Patterns of the names that it makes in its folder."""
    immediately: ClassVar[signal.Signals] = signal.SIGKILL
    """Ends the server without writing anything back, and its children with it."""
    lab: ClassVar[LabOptions]
    host: ClassVar[str] = LOOPBACK

    def __init__(
        self,
        directory: Path,
        port: int | None = None,
        options: Mapping[str, str] | None = None,
        programs: Path | None = None,
    ) -> None:
        self.programs = self.find(programs)
        self.directory = directory.absolute()
        self.data_dir = self.directory / "data"
        self.log = self.directory / "server.log"
        self.port = port or free_port()
        self.options = dict(options or {})
        self.account = account()
        self._made = not self.directory.exists()
        self._watch: Watch | None = None
        self._prepare_folder()

    @classmethod
    @abstractmethod
    def find(cls, programs: Path | None = None) -> Path:
        """The folder of its programs: this one, or the machine's own.

        Raises LabError, which says how to install them.
        """

    @property
    @abstractmethod
    def version(self) -> str:
        """The version as the server reports it: "18.1"."""

    @property
    @abstractmethod
    def start_command(self) -> list[str]:
        """Returns when the server accepts connections, or fails; an agent may run it."""

    @property
    @abstractmethod
    def restart_command(self) -> list[str]:
        """The same, even while the server runs."""

    @property
    @abstractmethod
    def stop_command(self) -> list[str]:
        """Ends the server cleanly."""

    @property
    @abstractmethod
    def pid_file(self) -> Path:
        """Names the server's process on its first line from early in a start on, and is gone after a stop."""

    @property
    @abstractmethod
    def arguments(self) -> tuple[str, ...]:
        """Arguments by which the server's process, which has the first, and all that start or stop it are known."""

    @abstractmethod
    def session(self, dbname: str | None = None) -> AbstractContextManager[Session]:
        """One connection for many statements. Raises LabError, and so does each statement."""

    @abstractmethod
    def fill(self, scale: int) -> None:
        """Make the load's tables, progress on stderr. Raises LabError."""

    @abstractmethod
    def load(self, scale: int) -> Load:
        """Fill the server, and return a realistic load over these data. Raises LabError."""

    @abstractmethod
    def _initialise(self) -> None:
        """Make the data folder and the server's own file, and what else a new server needs before anybody uses it."""

    @abstractmethod
    def _start(self) -> None:
        """Start what `_initialise` made. Raises LabError with the end of the log."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the server; its data stay, and `start` comes back to them."""

    @classmethod
    def require_load(cls) -> None:
        """Raise LabError if this machine lacks the program that makes the load."""
        if cls.lab.needs and shutil.which(cls.lab.needs) is None:
            raise LabError(f"{cls.lab.needs} is not installed: apt-get install {cls.lab.needs}")

    @property
    def include_file(self) -> Path | None:
        """The file of settings that the server reads last, for an engine that needs such a file."""
        return None

    @property
    def pid(self) -> int | None:
        """The server's process; None if it is not running."""
        return processes.named(self.pid_file, self.arguments[0])

    def __enter__(self) -> Self:
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
        """Start the server; create it first if there is none. Raises LabError with the end of its log."""
        if self._watch is None:
            self._watch = Watch(self._remains())
        if not self.data_dir.exists():
            self._initialise()
        self._start()

    def crash(self) -> None:
        """SIGKILL; returns when the server is gone with its children. Raises LabError if none runs, or one stays."""
        if self.pid is None:
            raise LabError(f"no server runs in {self.data_dir}")
        server = psutil.Process(self.pid)
        family = [server, *server.children(recursive=True)]
        processes.end(self.arguments[:1], signal.SIGKILL)
        # A zombie still holds its number, and the next server would take it for a rival.
        if psutil.wait_procs(family, processes.PATIENCE_S)[1]:
            raise LabError(f"the server in {self.data_dir} survived SIGKILL for {processes.PATIENCE_S:g} s")

    def remove(self) -> None:
        """Stop the server and delete all its files. Raises LabError if something remains."""
        self._remains().clear()
        if self._watch is not None:
            self._watch.dismiss()
            self._watch = None

    def sql(self, statement: str, dbname: str | None = None) -> str:
        """The rows of a statement, unaligned. Raises LabError."""
        with self.session(dbname) as run:
            return run(statement)

    def describe(self) -> dict[str, object]:
        """The values that an agent's configuration file needs."""
        include = {"include_file": str(self.include_file)} if self.include_file else {}
        return {
            "engine": self.engine,
            "title": self.title,
            "host": self.host,
            "port": self.port,
            "user": self.user,
            **({"dbname": self.dbname} if self.dbname else {}),
            "data_dir": str(self.data_dir),
            "version": self.version,
            "restart_command": self.restart_command,
            "start_command": self.start_command,
            **include,
        }

    def _prepare_folder(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        if any(not any(fnmatch(p.name, pattern) for pattern in self.files) for p in self.directory.iterdir()):
            raise LabError(f"{self.directory} is not empty; a scratch server needs an empty folder")
        self.account.open_way(self.directory)
        self.directory.chmod(0o755)
        self.account.own(self.directory)
        self.log.touch()
        self.account.own(self.log)

    def _remains(self) -> Remains:
        return Remains(self.directory, self.files, self.arguments, self.immediately, self._made)

    def _own_folder(self, path: Path) -> None:
        path.mkdir(mode=0o700, exist_ok=True)
        self.account.own(path)

    def _make_data(self, argv: Sequence[str]) -> None:
        """Make the data folder by the server's own program. Raises LabError."""
        self._run(self.account.command(argv))

    def _run(self, argv: Sequence[str]) -> None:
        """As the server's account. Raises LabError with the end of the log."""
        # A file and no pipe: the server inherits it, and a pipe would not end before the server does.
        with self.log.open("ab") as log:
            before = log.tell()
            how: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "cwd": "/"}
            try:
                done = subprocess.run(argv, env=environment(), **how)
            except OSError as error:
                raise LabError(f"{argv[0]}: {error.strerror}") from error
        if done.returncode != 0:
            said = last_lines(self.log, before)
            raise LabError(f"the scratch server in {self.data_dir}: exit {done.returncode}\n{said}")


def lines(rows: Iterable[Iterable[object]]) -> str:
    return "\n".join("|".join("" if v is None else str(v) for v in row) for row in rows)


def environment() -> dict[str, str]:
    """The environment without variables that would redirect a server's programs."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PG")} | {"LC_ALL": "C"}


def last_lines(log: Path, start: int) -> str:
    """The end of the text after byte `start`."""
    return "\n".join(log.read_bytes()[start:].decode(errors="replace").splitlines()[-LAST_LINES:])
