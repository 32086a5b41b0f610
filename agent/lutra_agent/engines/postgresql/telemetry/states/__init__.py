"""A server's state at a moment, beside its counters: limits, roles, files, rights, versions."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.states.access import CLIENTS, HBA
from lutra_agent.engines.postgresql.telemetry.states.collations import COLLATIONS
from lutra_agent.engines.postgresql.telemetry.states.files import FILES
from lutra_agent.engines.postgresql.telemetry.states.limits import LIMITS
from lutra_agent.engines.postgresql.telemetry.states.overrides import OVERRIDES
from lutra_agent.engines.postgresql.telemetry.states.recovery import RECOVERY
from lutra_agent.engines.postgresql.telemetry.states.software import SOFTWARE
from lutra_agent.engines.postgresql.telemetry.states.subscriptions import SUBSCRIPTIONS

STATES = (LIMITS, RECOVERY, SUBSCRIPTIONS, CLIENTS, SOFTWARE, OVERRIDES, COLLATIONS, HBA, FILES)
