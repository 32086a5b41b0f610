"""Lutra's REST interface as Python: `Client` and `AsyncClient`, with the same methods."""

from lutra_client.client import AsyncClient, Client
from lutra_client.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    NotFound,
    NotLutra,
    Problem,
    ServiceError,
    TimedOut,
    TooBusy,
    Unauthorized,
    Unreachable,
)
from lutra_client.exchange import Retries
from lutra_client.requests import Request

__all__ = [
    "AsyncClient",
    "BadRequest",
    "Client",
    "Conflict",
    "Forbidden",
    "NotFound",
    "NotLutra",
    "Problem",
    "Request",
    "Retries",
    "ServiceError",
    "TimedOut",
    "TooBusy",
    "Unauthorized",
    "Unreachable",
]
