"""Whether a server of the family runs, and which one it is."""

from __future__ import annotations

from pathlib import Path

from lutra_agent.engines.common.health import ServerIdentity, Traces, shut_down_by
from lutra_agent.engines.mysql.server.session import Session, process

TEMPORARY = "ibtmp1"


class MysqlHealth:
    managers: tuple[str, ...] = ("orchestrator", "replication-manager")

    def __init__(self, session: Session) -> None:
        self.programs = session.product.programs
        self._session = session

    def ping(self) -> None:
        self._session.connection.row("SELECT 1")

    def started(self) -> str:
        # Read again each time: a server listens a moment before it writes the file.
        query = "SELECT @@GLOBAL.datadir, @@GLOBAL.pid_file"
        data_dir, pid_file = map(str, self._session.connection.row(query))
        return " ".join(str(fact) for fact in process(Path(data_dir) / pid_file) if fact is not None)

    def traces(self) -> Traces:
        """The file of temporary tables is in the data folder, where it outlasts a crash of the host as well."""
        if self._session.details().pid is None:
            return Traces()
        query = "SELECT @@GLOBAL.datadir, @@GLOBAL.pid_file, @@GLOBAL.socket, @@GLOBAL.log_bin_index"
        data, pid_file, socket, index = (str(value or "") for value in self._session.connection.row(query))
        listening, starts = (tuple(Path(data) / name for name in (found,) if name) for found in (socket, index))
        return Traces((Path(data) / pid_file, Path(data) / TEMPORARY), listening, starts)

    def was_shut_down(self, traces: Traces) -> bool | None:
        return shut_down_by(traces)

    def identity(self) -> ServerIdentity:
        details = self._session.details()
        return ServerIdentity(details.version, self._session.role(), details.identifier)

    def process_id(self) -> int | None:
        return self._session.details().pid

    def data_dir(self) -> Path | None:
        return self._session.details().data_dir

    def close(self) -> None:
        self._session.connection.close()
