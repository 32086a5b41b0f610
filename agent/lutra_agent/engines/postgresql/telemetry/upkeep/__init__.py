"""The traces of autovacuum, indexes, sequences and roles, from the catalogue and its counters."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.upkeep.bloat import BLOAT
from lutra_agent.engines.postgresql.telemetry.upkeep.housekeeping import HOUSEKEEPING
from lutra_agent.engines.postgresql.telemetry.upkeep.indexes import INDEXES
from lutra_agent.engines.postgresql.telemetry.upkeep.integrity import INTEGRITY
from lutra_agent.engines.postgresql.telemetry.upkeep.role_settings import ROLE_SETTINGS
from lutra_agent.engines.postgresql.telemetry.upkeep.sequences import SEQUENCES

UPKEEP = (BLOAT, HOUSEKEEPING, INDEXES, INTEGRITY, ROLE_SETTINGS, SEQUENCES)
