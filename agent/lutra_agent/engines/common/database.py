"""The address of a database, and the login of its clients."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable


class Database(Protocol):
    """The agent's own database section fits; so does a scratch server's."""

    @property
    def engine(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def user(self) -> str: ...
    @property
    def tls_ca(self) -> Path | None: ...
    @property
    def tls_verify(self) -> str: ...
    @property
    def proved(self) -> bool: ...
    def password(self) -> str | None: ...


@runtime_checkable
class NamedDatabase(Database, Protocol):
    """One of several databases in a server: its clients connect to it by name."""

    @property
    def dbname(self) -> str: ...


class DialledDatabase(NamedDatabase, Protocol):
    """The server to which the agent itself connects."""

    @property
    def by_socket(self) -> bool: ...
