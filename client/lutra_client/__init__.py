"""Lutra's REST interface as Python: `Client` and `AsyncClient`, with the same methods.

Names are resolved on first use: `lutra --help` and the contexts come without httpx.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {"AsyncClient": "client", "Client": "client", "Retries": "exchange", "Request": "requests"}
"""The module of a name that is not an error."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
