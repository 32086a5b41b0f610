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


class InvalidRequest(LutraError):
    code = "invalid_request"
