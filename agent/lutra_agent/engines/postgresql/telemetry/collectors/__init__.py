"""The readings of every sample of PostgreSQL: a line here for each collector."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.activity import ACTIVITY
from lutra_agent.engines.postgresql.telemetry.collectors.archiver import ARCHIVER, WAITING
from lutra_agent.engines.postgresql.telemetry.collectors.bgwriter import BGWRITER
from lutra_agent.engines.postgresql.telemetry.collectors.checkpointer import CHECKPOINTER
from lutra_agent.engines.postgresql.telemetry.collectors.database import DATABASE
from lutra_agent.engines.postgresql.telemetry.collectors.io import IO
from lutra_agent.engines.postgresql.telemetry.collectors.locks import LOCKS
from lutra_agent.engines.postgresql.telemetry.collectors.replication import REPLICATION, SLOTS
from lutra_agent.engines.postgresql.telemetry.collectors.size import SIZE
from lutra_agent.engines.postgresql.telemetry.collectors.slru import SLRU
from lutra_agent.engines.postgresql.telemetry.collectors.tables import TABLES
from lutra_agent.engines.postgresql.telemetry.collectors.vacuum import HORIZON, VACUUM
from lutra_agent.engines.postgresql.telemetry.collectors.wal import WAL
from lutra_agent.engines.postgresql.telemetry.collectors.workers import WORKERS

COLLECTORS = (
    DATABASE,
    BGWRITER,
    CHECKPOINTER,
    WAL,
    IO,
    SLRU,
    ARCHIVER,
    WAITING,
    ACTIVITY,
    LOCKS,
    REPLICATION,
    SLOTS,
    TABLES,
    WORKERS,
    VACUUM,
    HORIZON,
    SIZE,
)
