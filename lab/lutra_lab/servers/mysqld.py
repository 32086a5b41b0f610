"""A scratch server of the MySQL family, with an account without a password on its loopback port."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from lutra_lab.servers import daemon
from lutra_lab.servers.base import ScratchServer, Session, lines
from lutra_lab.servers.daemon import Daemon
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.loads import Load, make_data
from lutra_lab.servers.ports import LONGEST_SOCKET

ROWS, MB_PER_TABLE = 100_000, 30
SCALE = "Fill the server with this many sysbench tables of 100,000 rows each."
EXAMPLE_TABLES = 20
SYSBENCH = "sysbench"
WARM = {"innodb_buffer_pool_dump_pct": "100"}
"""With it, a restart restores the cache, so that a trial measures its settings and not an empty cache."""
FIRST_STATEMENTS = (
    "CREATE USER IF NOT EXISTS root@'127.0.0.1'",
    "GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION",
    "CREATE DATABASE sbtest",
)


class ScratchMysqld(ScratchServer):
    """`options` go into the server's own file, under what the agent writes."""

    user = "root"
    dbname = "sbtest"
    files = ("data", "tmp", "include", "server.log", "server.cnf", "server.json", "server.pid", "s.sock*")

    def __init__(
        self,
        directory: Path,
        port: int | None = None,
        options: Mapping[str, str] | None = None,
        programs: Path | None = None,
    ) -> None:
        super().__init__(directory, port, options, programs)
        self.defaults = self.directory / "server.cnf"
        inside = self.directory / "s.sock"
        self.socket = inside if len(str(inside)) < LONGEST_SOCKET else Path(f"/tmp/lutra-{self.port}.sock")  # noqa: S108
        self._daemon = Daemon(
            tuple(self.account.command([*self._program(), f"--defaults-file={self.defaults}"])),
            str(self.pid_file),
            str(self.log),
            self.port,
        )

    @abstractmethod
    def _program(self) -> list[str]:
        """How the server's program is called."""

    @abstractmethod
    def _install(self) -> list[str]:
        """What makes the data folder."""

    def _own_options(self) -> dict[str, str]:
        return {}

    @property
    def version(self) -> str:
        return self.sql("SELECT version()")

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
    def arguments(self) -> tuple[str, str]:
        return self._daemon.argument, str(self.control_file)

    def session(self, dbname: str | None = None) -> AbstractContextManager[Session]:
        return self._session(host=self.host, port=self.port, database=dbname or self.dbname)

    def fill(self, scale: int, rows: int = ROWS) -> None:
        where = [f"--mysql-host={self.host}", f"--mysql-port={self.port}", f"--mysql-user={self.user}"]
        size = [f"--mysql-db={self.dbname}", f"--tables={scale}", f"--table-size={rows}", f"--threads={min(scale, 4)}"]
        make_data([SYSBENCH, "--db-driver=mysql", *where, *size, "oltp_read_write", "prepare"])

    def load(self, scale: int) -> Load:
        """Transactions of reads and writes at random places, by 16 clients."""
        self.fill(scale)
        self.stop()  # writes what the filling left, or the first trial would pay for it
        self.start()
        driver = {"kind": "sysbench", "script": "oltp_read_write", "tables": scale, "table_size": ROWS}
        driver |= {"threads": 16, "warmup_s": 4}
        return Load(f"{scale * MB_PER_TABLE} MB of data, sysbench reading and writing it with 16 clients", driver)

    def remove(self) -> None:
        super().remove()
        for path in (self.socket, Path(f"{self.socket}.lock")):
            path.unlink(missing_ok=True)

    def _start(self) -> None:
        self._daemon.start()

    def stop(self) -> None:
        self._daemon.stop()

    def _initialise(self) -> None:
        # Two servers that share one trip over each other's temporary tables.
        self._own_folder(self.directory / "tmp")
        self._daemon.write(self.control_file)
        ours = {
            "datadir": str(self.data_dir),
            "tmpdir": str(self.directory / "tmp"),
            "socket": str(self.socket),
            "pid_file": str(self.pid_file),
            "bind_address": self.host,
            "port": str(self.port),
            **self._own_options(),
            **self.options,
        }
        lines = ["[mysqld]", *(f"{name} = {value}" for name, value in ours.items())]
        if self.include_file is not None:
            self.include_file.parent.mkdir(mode=0o755, exist_ok=True)
            lines.append(f"!includedir {self.include_file.parent}")
        self.defaults.write_text("\n".join(lines) + "\n")
        self.defaults.chmod(0o644)
        self._make_data(self._install())
        self._start()
        with self._session(unix_socket=str(self.socket)) as run:
            for statement in FIRST_STATEMENTS:
                run(statement)

    @contextmanager
    def _session(self, **where: Any) -> Iterator[Session]:
        import pymysql

        def run(statement: str) -> str:
            try:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                    return lines(cursor.fetchall())
            except pymysql.Error as error:
                raise LabError(f"{statement}: {error}") from error

        try:
            connection = pymysql.connect(user=self.user, autocommit=True, **where)
        except pymysql.Error as error:
            raise LabError(str(error)) from error
        with connection:
            yield run
