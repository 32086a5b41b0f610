"""Whether a server of the family runs, and which one it is."""

from __future__ import annotations

from pathlib import Path

from lutra_agent.engines.common.answers import understood
from lutra_agent.engines.common.health import ServerIdentity
from lutra_agent.engines.mysql.server.session import Session, process


class MysqlHealth:
    def __init__(self, session: Session) -> None:
        self.programs = session.product.programs
        self._session = session

    def ping(self) -> None:
        self._session.connection.row("SELECT 1")

    @understood("the start of the server")
    def started(self) -> str:
        # Read again each time: a server listens a moment before it writes the file.
        query = "SELECT @@GLOBAL.datadir, @@GLOBAL.pid_file"
        data_dir, pid_file = map(str, self._session.connection.row(query))
        return " ".join(str(fact) for fact in process(Path(data_dir) / pid_file) if fact is not None)

    def identity(self) -> ServerIdentity:
        details = self._session.details()
        return ServerIdentity(details.version, self._session.role(), details.identifier)

    def process_id(self) -> int | None:
        return self._session.details().pid

    def data_dir(self) -> Path | None:
        return self._session.details().data_dir

    def close(self) -> None:
        self._session.connection.close()
