"""Refusals of the edge itself, in addition to the errors of use cases."""

from __future__ import annotations

from lutra_models.errors import LutraError


class TooLarge(LutraError):
    code = "too_large"


class UnsupportedEncoding(LutraError):
    code = "unsupported_encoding"


class InvalidJson(LutraError):
    code = "invalid_json"


class TooSlow(LutraError):
    """The body did not arrive in time. The rest of it is not read."""

    code = "too_slow"


class Later(LutraError):
    """The same request can succeed after `retry_after_s` whole seconds."""

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TooManyRequests(Later):
    """This client's own share is used up."""

    code = "too_many_requests"


class Busy(Later):
    """The share of all clients together is used up."""

    code = "busy"
