"""What the service says to this agent's token and database, asked once, for `lutra-agent check`."""

from __future__ import annotations

from lutra_agent.config.types import ServiceConfig
from lutra_agent.errors import ConfigError, ServiceRefused, ServiceUnavailable
from lutra_agent.reporting.transport import Transport


def ask_service(config: ServiceConfig) -> str:
    """In words; whatever is wrong with the service does not end the check of the database."""
    try:
        transport = Transport(config, config.token())
    except ConfigError as error:
        return f"not asked: {error}"
    try:
        transport.get(f"/v1/databases/{config.database}")
    except (ServiceUnavailable, ServiceRefused) as error:
        return f"{config.url}: {error}; reports wait in the spool"
    finally:
        transport.close()
    return f"{config.url} knows the token and {config.database}"
