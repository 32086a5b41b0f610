"""The service's answer to this agent's token and database, asked once, for `lutra-agent check`."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.config.types import TOKEN_VARIABLE, ServiceConfig
from lutra_agent.errors import ConfigError, NotAdmitted, ServiceRefused, ServiceUnavailable
from lutra_agent.reporting.transport import Transport

NOT_TRUSTED = "CERTIFICATE_VERIFY_FAILED"
TRUST = (
    "set service.ca_file to the certificate (PEM) of the authority that signed the service's, or service.url to a name "
    "in this certificate"
)


@dataclass(frozen=True)
class ServiceAnswer:
    """The problem in words, with the remedy, if the agent cannot report there; empty if it can."""

    said: str
    remedy: str = ""


def ask_service(config: ServiceConfig) -> ServiceAnswer:
    """Problems with the service do not end the check of the database."""
    try:
        transport = Transport(config, config.token())
    except ConfigError as error:
        return ServiceAnswer(f"not asked: {error}", str(error))
    try:
        transport.get(f"/v1/databases/{config.database}")
    except NotAdmitted as error:
        how = f"give the agent a token of this database, by service.token_file or {TOKEN_VARIABLE}"
        return _refused(config, error, how)
    except ServiceRefused as error:
        how = f"set service.database to the id that the service gave this database: it refuses {config.database!r}"
        return _refused(config, error, how)
    except ServiceUnavailable as error:
        if NOT_TRUSTED in str(error):
            return _refused(config, error, TRUST)
        return _refused(config, error, f"start the service at {config.url}, or set service.url to where it answers")
    finally:
        transport.close()
    return ServiceAnswer(f"{config.url} knows the token and {config.database}")


def _refused(config: ServiceConfig, error: Exception, remedy: str) -> ServiceAnswer:
    return ServiceAnswer(f"{config.url}: {error}; reports wait in the spool", remedy)
