"""Refusals of use cases, in addition to the core's errors."""

from __future__ import annotations

from lutra_models.errors import LutraError


class Unauthorized(LutraError):
    code = "unauthorized"


class Forbidden(LutraError):
    code = "forbidden"


class Conflict(LutraError):
    """The request is valid, but contradicts stored data."""

    code = "conflict"


class KeyReused(LutraError):
    """An Idempotency-Key that was used with a different request before."""

    code = "idempotency_key_reused"


class QuotaExceeded(LutraError):
    """A database has used its quota; the same request succeeds after `retry_after_s`."""

    code = "quota_exceeded"

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NameTaken(LutraError):
    """Another agent reports under this one's name. The same report succeeds once that one has been silent for a long
    time.
    """

    code = "name_taken"

    def __init__(self, message: str, retry_after_s: int = 30) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class DatabaseRetired(LutraError):
    """A retired database accepts nothing until somebody puts it back into use."""

    code = "database_retired"
    retry_after_s = 600


class InvalidRequest(LutraError):
    code = "invalid_request"
