"""The readings of every sample: one file per subject, one line here."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import Collector
from lutra_agent.engines.mysql.telemetry.collectors.binlog import BINLOG
from lutra_agent.engines.mysql.telemetry.collectors.buffer_pool import BUFFER_POOL
from lutra_agent.engines.mysql.telemetry.collectors.caches import CACHES
from lutra_agent.engines.mysql.telemetry.collectors.failures import FAILURES
from lutra_agent.engines.mysql.telemetry.collectors.files import DATA, FILES
from lutra_agent.engines.mysql.telemetry.collectors.metrics import METRICS
from lutra_agent.engines.mysql.telemetry.collectors.redo import REDO
from lutra_agent.engines.mysql.telemetry.collectors.replication import REPLICATION
from lutra_agent.engines.mysql.telemetry.collectors.rocksdb import ROCKSDB
from lutra_agent.engines.mysql.telemetry.collectors.row_locks import ROW_LOCKS
from lutra_agent.engines.mysql.telemetry.collectors.statements import STATEMENTS
from lutra_agent.engines.mysql.telemetry.collectors.temporary import TEMPORARY
from lutra_agent.engines.mysql.telemetry.collectors.threads import THREADS
from lutra_agent.engines.mysql.telemetry.collectors.transactions import TRANSACTIONS

COLLECTORS: tuple[Collector, ...] = (
    STATEMENTS,
    FAILURES,
    THREADS,
    BUFFER_POOL,
    FILES,
    DATA,
    REDO,
    ROW_LOCKS,
    TEMPORARY,
    CACHES,
    BINLOG,
    METRICS,
    TRANSACTIONS,
    REPLICATION,
    ROCKSDB,
)
