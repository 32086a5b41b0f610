"""Rights and duties of sessions and the planner, and the instruments that watch them: collectors in addition to the
server's own counters.
"""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import Collector
from lutra_agent.engines.mysql.telemetry.work.instruments import INSTRUMENTS
from lutra_agent.engines.mysql.telemetry.work.pauses import PAUSES
from lutra_agent.engines.mysql.telemetry.work.scans import SCANS
from lutra_agent.engines.mysql.telemetry.work.switches import OPTIMIZER_SWITCH

WORK: tuple[Collector, ...] = (PAUSES, OPTIMIZER_SWITCH, INSTRUMENTS, SCANS)
