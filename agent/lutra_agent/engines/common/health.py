"""Whether a server runs, which server it is, and where it lies on this host."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lutra_models.server import Role

from lutra_agent.engines.common.place import Place


@dataclass(frozen=True)
class ServerIdentity:
    """Which server answers. `identifier` is what it calls itself, empty where it has no name of its own."""

    version: str
    role: Role
    identifier: str


class Health(Protocol):
    """The life of one server. Every method but `close` raises DatabaseUnavailable where the server cannot be reached.

    `programs` are what the server's process is called.
    """

    programs: tuple[str, ...]

    def ping(self) -> None:
        """Raises LoginRefused, or ServerStarting, where it is known that the server runs."""
        ...

    def started(self) -> str:
        """What tells this start of the server from any other; empty where nothing does."""
        ...

    def identity(self) -> ServerIdentity: ...

    def place(self) -> Place:
        """The server's process and data on this host, as far as they are proven to be those of the server that answers.

        Proven again after each dial: then another server may answer.
        """
        ...

    def name_in(self, folder: Path) -> str:
        """What tells the data in a folder of this host from any other server's, also while the server is down; empty
        where this account may not know.
        """
        ...

    def close(self) -> None:
        """Close the connection that the engine's parts share; the next question opens it again."""
        ...
