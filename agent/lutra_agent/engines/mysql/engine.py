"""MySQL and MariaDB, as the agent sees them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from lutra_agent.engines.common.answers import text, understood
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.health import ServerIdentity, Traces, shut_down_by
from lutra_agent.engines.common.place import Place, inode_of
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.section import MariadbDatabase, MysqlDatabase
from lutra_agent.engines.mysql.server.session import Product, Session, name_in, process
from lutra_agent.engines.mysql.sources.changing import Changing
from lutra_agent.engines.mysql.sources.mariadb import IncludeFile
from lutra_agent.engines.mysql.sources.mysql import Persisted
from lutra_agent.engines.mysql.sources.source import MysqlSource, Store
from lutra_agent.engines.mysql.telemetry.figures import MariadbFigures, MysqlFigures
from lutra_agent.engines.mysql.telemetry.telemetry import Figures, MysqlTelemetry

TEMPORARY = "ibtmp1"
NO_FILE = ("", "stderr")
"""The value of the log's name if the server itself writes none."""
READY = "ready for connections"

MYSQL = Product(
    "mysql",
    ("mysqld", "mysqld-debug"),
    "SELECT @@GLOBAL.server_uuid",
    "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()",
)
MARIADB = Product(
    "mariadb",
    ("mariadbd", "mysqld"),
    "SHOW GLOBAL VARIABLES LIKE 'server_uid'",
    "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()",
    mariadb=True,
)


def open_mysql(database: MysqlDatabase) -> Engine:
    """Connects lazily."""
    return assembled(database, Session(Connection(database), MYSQL), MysqlFigures(), Persisted())


def open_mariadb(database: MariadbDatabase) -> Engine:
    """Connects lazily."""
    session = Session(Connection(database), MARIADB)
    file = database.include_file
    return assembled(database, session, MariadbFigures(), IncludeFile(file), include_file=file)


def assembled(
    database: MysqlDatabase,
    session: Session,
    figures: Figures,
    store: Store,
    now_s: Callable[[], float] = time.time,
    include_file: Path | None = None,
) -> Engine:
    """An engine of the family over one session."""
    source = MysqlSource(session, store, Changing(database, session.connection, now_s, include_file), now_s)
    return Engine(session.product.family, MysqlHealth(session), MysqlTelemetry(session, figures), (source,))


class MysqlHealth:
    managers: tuple[str, ...] = ("orchestrator", "replication-manager")

    def __init__(self, session: Session) -> None:
        self.programs = session.product.programs
        self._session = session

    def ping(self) -> None:
        self._session.connection.row("SELECT 1")

    @understood("the start of the server")
    def started(self) -> str:
        own = self.place().process
        # Read again each time: a server listens a moment before it writes the file.
        number, started_s = process(self._session.pid_file())
        if own is None or number not in (None, own):
            return ""
        return " ".join(str(fact) for fact in (number, started_s) if fact is not None)

    @understood("the files of the server")
    def traces(self) -> Traces:
        """The file of temporary tables is in the data folder, so it also survives a crash of the host."""
        if self.place().process is None:
            return Traces()
        query = (
            "SELECT @@GLOBAL.datadir, @@GLOBAL.pid_file, @@GLOBAL.socket, @@GLOBAL.log_bin_index, @@GLOBAL.log_error"
        )
        data, pid_file, socket, index, log = map(text, self._session.connection.row(query))
        listening, starts = (tuple(Path(data) / name for name in (found,) if name) for found in (socket, index))
        own = Path(data) / log if log not in NO_FILE else None
        return Traces((Path(data) / pid_file, Path(data) / TEMPORARY), listening, starts, own, READY)

    def was_shut_down(self, traces: Traces) -> bool | None:
        return shut_down_by(traces)

    def identity(self) -> ServerIdentity:
        details = self._session.details()
        return ServerIdentity(details.version, self._session.role(), details.identifier)

    def place(self) -> Place:
        return self._session.details().place

    def name_in(self, folder: Path) -> str:
        return inode_of(folder) if self._session.product.mariadb else name_in(folder)

    def close(self) -> None:
        self._session.connection.close()
