"""InnoDB's reads, writes and flushes of its files, and how large these are.

The server looks at each file for their sizes: it is asked every ten minutes, for a tenth of a second at most, and where
that is too little not before the next day.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from lutra_agent.engines.common.answers import number_in, reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus, Status
from lutra_agent.errors import CollectionFailed

EVERY_S, AGAIN_S = 600.0, 86400.0
LONGEST_S = 0.1
OF_MARIADB = "mariadb"
"""In the version of every server of that name."""
SUM = "SUM(FILE_SIZE) AS bytes FROM information_schema"
DATA_ALONE = r"WHERE NAME NOT LIKE 'innodb\_undo%' AND NAME NOT LIKE 'innodb\_temporary%'"
IN_MYSQL = f"SELECT /*+ MAX_EXECUTION_TIME({1000 * LONGEST_S:.0f}) */ {SUM}.INNODB_TABLESPACES {DATA_ALONE}"
IN_MARIADB = f"SET STATEMENT max_statement_time = {LONGEST_S} FOR SELECT {SUM}.INNODB_SYS_TABLESPACES {DATA_ALONE}"

FILES = FromStatus(
    "files",
    {
        "reads": "Innodb_data_reads",
        "read_bytes": "Innodb_data_read",
        "writes": "Innodb_data_writes",
        "written_bytes": "Innodb_data_written",
        "fsyncs": "Innodb_data_fsyncs",
        "doublewrites": "Innodb_dblwr_writes",
        "doublewrite_pages": "Innodb_dblwr_pages_written",
    },
    {
        "pending_reads": "Innodb_data_pending_reads",
        "pending_writes": "Innodb_data_pending_writes",
        "pending_fsyncs": "Innodb_data_pending_fsyncs",
        "open_files": "Open_files",
    },
)


@dataclass
class _Look:
    """What the last one saw, and from which moment on the server is asked again, in seconds since its start."""

    reading: Reading | None
    at_s: float
    next_s: float


@dataclass(frozen=True)
class DataSize:
    """All tables of InnoDB, by the size of their files."""

    name: str = "data"
    view: str = "the size of InnoDB's tablespaces"
    _looks: WeakKeyDictionary[Connection, _Look] = field(default_factory=WeakKeyDictionary, compare=False)

    def read(self, connection: Connection, status: Status) -> Reading | None:
        now_s = number_in(status.get("Uptime")) or 0.0
        look = self._looks.get(connection)
        if look is None or not look.at_s <= now_s < look.next_s:
            found, in_time = _sizes(connection)
            look = self._looks[connection] = _Look(found, now_s, now_s + (EVERY_S if in_time else AGAIN_S))
        return look.reading


def _sizes(connection: Connection) -> tuple[Reading | None, bool]:
    """And whether that was quick enough to be asked again."""
    try:
        names, rows = connection.named_rows(IN_MARIADB if OF_MARIADB in connection.server_version.lower() else IN_MYSQL)
    except CollectionFailed:
        return None, False
    took_s = connection.durations_s[-1] if connection.durations_s else 0.0
    return reading(dict(zip(names, rows[0], strict=True)), frozenset(names)), took_s <= LONGEST_S


DATA = DataSize()
