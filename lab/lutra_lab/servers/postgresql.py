"""A scratch PostgreSQL, trusted on its loopback port."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lutra_lab.servers import binaries
from lutra_lab.servers.base import LabOptions, ScratchServer, Session, environment, lines
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.loads import Load, make_data
from lutra_lab.servers.ports import LONGEST_SOCKET

UPDATES = Path(__file__).with_name("updates.sql")
MB_PER_SCALE = 15


class ScratchPostgres(ScratchServer):
    """`programs` None is the embedded PostgreSQL 18; `options` go into postgresql.conf."""

    engine = "postgresql"
    title = "PostgreSQL"
    user = "postgres"
    dbname = "postgres"
    files = ("data", "server.log", "installation")
    immediately = signal.SIGQUIT
    lab = LabOptions(
        scale="Fill the server with pgbench's tables at this scale (16 MB each).",
        example=60,
        programs=("--bin-dir", "The folder of a different PostgreSQL's programs; default: embedded 18."),
    )

    def __init__(
        self,
        directory: Path,
        port: int | None = None,
        options: Mapping[str, str] | None = None,
        programs: Path | None = None,
    ) -> None:
        super().__init__(directory, port, options, programs)
        self.bin_dir = binaries.reachable(self.programs, self.account, self.directory)

    @classmethod
    def find(cls, programs: Path | None = None) -> Path:
        return binaries.checked(programs or binaries.embedded())

    @property
    def version(self) -> str:
        return binaries.version(self.bin_dir)

    @property
    def start_command(self) -> list[str]:
        return self._control("start")

    @property
    def restart_command(self) -> list[str]:
        return self._control("restart", "-m", "fast")

    @property
    def stop_command(self) -> list[str]:
        return self._control("stop", "-m", "fast")

    @property
    def pid_file(self) -> Path:
        return self.data_dir / "postmaster.pid"

    @property
    def arguments(self) -> tuple[str]:
        return (str(self.data_dir),)

    @contextmanager
    def session(self, dbname: str | None = None) -> Iterator[Session]:
        import psycopg

        def run(statement: str) -> str:
            try:
                cursor = connection.execute(statement.encode())
                return lines(cursor.fetchall() if cursor.description else ())
            except psycopg.Error as error:
                raise LabError(f"{statement}: {error}") from error

        try:
            connection = psycopg.connect(self.conninfo(dbname), autocommit=True)
        except psycopg.Error as error:
            raise LabError(str(error)) from error
        with connection:
            yield run

    def fill(self, scale: int) -> None:
        where = ["-h", self.host, "-p", str(self.port), "-U", self.user, self.dbname]
        make_data([str(self.bin_dir / "pgbench"), "-i", "-s", str(scale), *where], environment())

    def load(self, scale: int) -> Load:
        """Six updates at random places a transaction, by 8 clients."""
        self.fill(scale)
        driver = {"kind": "pgbench", "bin": str(self.bin_dir / "pgbench"), "script": str(UPDATES), "scale": scale}
        driver |= {"clients": 8, "threads": 2, "warmup_s": 2}
        return Load(f"{scale * MB_PER_SCALE} MB of data, pgbench updating it with 8 clients", driver)

    def conninfo(self, dbname: str | None = None) -> str:
        return f"host={self.host} port={self.port} user={self.user} dbname={dbname or self.dbname}"

    def url(self, dbname: str | None = None) -> str:
        """As SQLAlchemy spells it."""
        return f"postgresql+psycopg://{self.user}@{self.host}:{self.port}/{dbname or self.dbname}"

    def describe(self) -> dict[str, object]:
        return {**super().describe(), "bin_dir": str(self.bin_dir)}

    def _start(self) -> None:
        self._run(self.start_command)

    def stop(self) -> None:
        if self.pid is not None:
            self._run(self.stop_command)

    def _initialise(self) -> None:
        self._own_folder(self.data_dir)
        how = ["-U", self.user, "-A", "trust", "-N", "--encoding=UTF8", "--locale=C"]
        self._make_data([str(self.bin_dir / "initdb"), "-D", str(self.data_dir), *how])
        sockets = str(self.data_dir) if len(str(self.data_dir)) < LONGEST_SOCKET else ""
        ours = {"listen_addresses": self.host, "port": str(self.port), "unix_socket_directories": sockets}
        with (self.data_dir / "postgresql.conf").open("a") as file:
            for name, value in {**ours, **self.options}.items():
                file.write("{} = '{}'\n".format(name, value.replace("'", "''")))

    def _control(self, verb: str, *more: str) -> list[str]:
        where = ["-D", str(self.data_dir), "-w", "-t", "60", "-s"]
        log = [] if verb == "stop" else ["-l", str(self.log)]
        return self.account.command([str(self.bin_dir / "pg_ctl"), verb, *where, *log, *more])
