"""What a use case can refuse, besides the core's errors."""

from __future__ import annotations

from lutra_models.errors import LutraError


class Unauthorized(LutraError):
    code = "unauthorized"


class Forbidden(LutraError):
    code = "forbidden"


class Conflict(LutraError):
    """The request is sound, and what is stored stands in its way."""

    code = "conflict"


class KeyReused(LutraError):
    """An Idempotency-Key that came with another request before."""

    code = "idempotency_key_reused"


class QuotaExceeded(LutraError):
    """A database has added as much as it may for now; the same request succeeds after `retry_after_s`."""

    code = "quota_exceeded"

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class InvalidRequest(LutraError):
    code = "invalid_request"
