"""The state and the identity of a server of the family."""

from __future__ import annotations

from pathlib import Path

from lutra_agent.engines.common.answers import text, understood
from lutra_agent.engines.common.health import ServerIdentity, Traces, shut_down_by
from lutra_agent.engines.common.place import Place, inode_of
from lutra_agent.engines.mysql.server.session import Session, name_in, process

TEMPORARY = "ibtmp1"
NO_FILE = ("", "stderr")
"""The value of the log's name if the server itself writes none."""
READY = "ready for connections"


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
