"""A scratch server of the MySQL family, with an account without a password on its loopback port."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from lutra_lab.servers.base import Session, lines
from lutra_lab.servers.controlled import ControlledServer
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


class ScratchMysqld(ControlledServer):
    """`options` go into the server's own file, under what the agent writes."""

    user = "root"
    dbname = "sbtest"
    files = (*ControlledServer.files, "tmp", "include", "s.sock*")

    @abstractmethod
    def _program(self) -> list[str]:
        """How the server's program is called."""

    @property
    def argv(self) -> list[str]:
        return self.account.command([*self._program(), f"--defaults-file={self.file}"])

    @abstractmethod
    def _install(self) -> list[str]:
        """What makes the data folder."""

    def _own_options(self) -> dict[str, str]:
        return {}

    @property
    def socket(self) -> Path:
        inside = self.directory / "s.sock"
        return inside if len(str(inside)) < LONGEST_SOCKET else Path(f"/tmp/lutra-{self.port}.sock")  # noqa: S108

    @property
    def version(self) -> str:
        return self.sql("SELECT version()")

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

    def _initialise(self) -> None:
        super()._initialise()
        # Two servers that share one trip over each other's temporary tables.
        self._own_folder(self.directory / "tmp")
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
        self.file.write_text("\n".join(lines) + "\n")
        self.file.chmod(0o644)
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
