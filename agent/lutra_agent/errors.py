"""The agent's errors, by its reaction to them."""

from __future__ import annotations

from lutra_models.errors import ApplyCode, LutraError


class ConfigError(LutraError):
    """An error in the agent's own file or environment: report it and stop."""

    code = "agent_config"


class OtherEngine(ConfigError):
    """Another product answers than the one that was named. `engine` is its family, empty if that is unknown."""

    def __init__(self, engine: str, message: str) -> None:
        super().__init__(message)
        self.engine = engine


class DatabaseUnavailable(LutraError):
    """Close the health gate and ping until the database answers."""

    code = "database_unavailable"


class LoginRefused(DatabaseUnavailable):
    """The server runs and refuses the agent (no free connection, a different password): never start it because
    of that.
    """


class NoConnectionLeft(LoginRefused):
    """The server has no free connection for anybody."""


class NoAnswer(DatabaseUnavailable):
    """The server accepts connections and does not answer within the time limit."""


class ServerStarting(DatabaseUnavailable):
    """The server runs and admits no client: it starts, recovers or stops. A restart would only delay it."""


class CollectionFailed(LutraError):
    """Skip this collector; the others continue."""

    code = "collection_failed"


class ApplyRefused(LutraError):
    """The agent does not apply a change; `apply_code` is the reason. Raises ValueError for an unknown code."""

    code = "apply_refused"

    def __init__(self, apply_code: ApplyCode, message: str) -> None:
        super().__init__(message)
        self.apply_code = ApplyCode(apply_code)


class Deferred(LutraError):
    """A directive has to wait: the agent changed nothing, and will answer it later."""

    code = "not_yet"


class DidNotStart(LutraError):
    """The server did not accept connections within the time limit after a restart or a start."""

    code = "did_not_start"


class HeldDown(DidNotStart):
    """The server is down on purpose: the agent does not start it, and its undo waits."""


class NotRestarted(DidNotStart):
    """The command to restart it left the server as it was."""


class DriverFailed(LutraError):
    """A load generator gave no measurement. The message contains the last lines of its output."""

    code = "driver_failed"


class ServiceUnavailable(LutraError):
    """Keep the report and try again later: after `retry_after_s` at the earliest, if the service sends it."""

    code = "service_unavailable"

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServiceFailed(ServiceUnavailable):
    """The service itself answers with an error: this message may be the cause."""


class NotAdmitted(ServiceUnavailable):
    """The service refuses the token, or does not know the database: an operator can cure that."""


class ServiceRefused(LutraError):
    """The service will never take this message: move it aside, count it, send the next."""

    code = "service_refused"
