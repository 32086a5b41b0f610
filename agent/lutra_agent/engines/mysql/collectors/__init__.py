"""What is read from a server at every sample: one file per subject, one line here."""

from __future__ import annotations

from lutra_agent.engines.mysql.collectors.base import Collector
from lutra_agent.engines.mysql.collectors.binlog import BINLOG
from lutra_agent.engines.mysql.collectors.buffer_pool import BUFFER_POOL
from lutra_agent.engines.mysql.collectors.caches import CACHES
from lutra_agent.engines.mysql.collectors.failures import FAILURES
from lutra_agent.engines.mysql.collectors.files import FILES
from lutra_agent.engines.mysql.collectors.metrics import METRICS
from lutra_agent.engines.mysql.collectors.redo import REDO
from lutra_agent.engines.mysql.collectors.replication import REPLICATION
from lutra_agent.engines.mysql.collectors.rocksdb import ROCKSDB
from lutra_agent.engines.mysql.collectors.row_locks import ROW_LOCKS
from lutra_agent.engines.mysql.collectors.statements import STATEMENTS
from lutra_agent.engines.mysql.collectors.temporary import TEMPORARY
from lutra_agent.engines.mysql.collectors.threads import THREADS
from lutra_agent.engines.mysql.collectors.transactions import TRANSACTIONS

COLLECTORS: tuple[Collector, ...] = (
    STATEMENTS,
    FAILURES,
    THREADS,
    BUFFER_POOL,
    FILES,
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
