"""The traces of autovacuum, indexes, sequences and roles, from the catalogue and its counters."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.upkeep.bloat import BLOAT
from lutra_agent.engines.postgresql.telemetry.upkeep.catalogs import CATALOGS
from lutra_agent.engines.postgresql.telemetry.upkeep.housekeeping import HOUSEKEEPING
from lutra_agent.engines.postgresql.telemetry.upkeep.indexes import INDEXES
from lutra_agent.engines.postgresql.telemetry.upkeep.integrity import INTEGRITY
from lutra_agent.engines.postgresql.telemetry.upkeep.role_settings import ROLE_SETTINGS
from lutra_agent.engines.postgresql.telemetry.upkeep.sequences import SEQUENCES
from lutra_agent.engines.postgresql.telemetry.upkeep.updates import UPDATES

UPKEEP = (BLOAT, CATALOGS, HOUSEKEEPING, INDEXES, INTEGRITY, ROLE_SETTINGS, SEQUENCES, UPDATES)
