"""Signs of an outage, a danger or an access fault: collectors in addition to the server's own counters."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import Collector
from lutra_agent.engines.mysql.telemetry.states.accounts import ACCOUNTS
from lutra_agent.engines.mysql.telemetry.states.certificate import CERTIFICATE
from lutra_agent.engines.mysql.telemetry.states.cluster import CLUSTER
from lutra_agent.engines.mysql.telemetry.states.hosts import HOSTS
from lutra_agent.engines.mysql.telemetry.states.myisam import MYISAM
from lutra_agent.engines.mysql.telemetry.states.prepared import PREPARED
from lutra_agent.engines.mysql.telemetry.states.semi_sync import SEMI_SYNC
from lutra_agent.engines.mysql.telemetry.states.sessions import WAITING_SESSIONS
from lutra_agent.engines.mysql.telemetry.states.switches import SWITCHED_SETTINGS
from lutra_agent.engines.mysql.telemetry.states.tables import COUNTERS, ENGINES, KEYS
from lutra_agent.engines.mysql.telemetry.states.written_files import BINLOG_FILES, GROUP

STATES: tuple[Collector, ...] = (
    WAITING_SESSIONS,
    SWITCHED_SETTINGS,
    SEMI_SYNC,
    CLUSTER,
    GROUP,
    HOSTS,
    ACCOUNTS,
    PREPARED,
    BINLOG_FILES,
    MYISAM,
    COUNTERS,
    ENGINES,
    KEYS,
    CERTIFICATE,
)
