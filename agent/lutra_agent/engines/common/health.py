"""The state of a server: whether it runs, its identity, and its place on this host."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lutra_models.server import Role

from lutra_agent.engines.common.place import Place


@dataclass(frozen=True)
class ServerIdentity:
    """The identity of the answering server. `identifier` is its own name for itself, empty if it has none.

    `pooled`: a pooler answers in its place, and gives each statement any of its shared sessions.
    """

    version: str
    role: Role
    identifier: str
    pooled: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Traces:
    """Files of this host that distinguish a shutdown from a crash; all empty if there are none.

    `running` exist while the server runs; a shutdown removes them, and a crash leaves them. `listening` are removed
    when a shutdown begins. `starts` are written by each start that succeeds. `log` is the server's own log, to which
    each start that succeeds adds a line with `ready` in it.
    """

    running: tuple[Path, ...] = ()
    listening: tuple[Path, ...] = ()
    starts: tuple[Path, ...] = ()
    log: Path | None = None
    ready: str = ""


class Health(Protocol):
    """The life of one server. Methods that ask the server raise DatabaseUnavailable if it cannot be reached.

    `programs` are the names of the server's process. `managers` are programs that control the server's start and
    role if one of them runs on this host.
    """

    programs: tuple[str, ...]
    managers: tuple[str, ...]

    def ping(self) -> None:
        """Raises LoginRefused, or ServerStarting, if it is known that the server runs."""
        ...

    def started(self) -> str:
        """A text that identifies this start of the server; empty if there is none."""
        ...

    def identity(self) -> ServerIdentity: ...

    def place(self) -> Place:
        """The server's process and data on this host, as far as they are proven to be those of the server that answers.

        Proven again after each new connection: another server may answer then.
        """
        ...

    def name_in(self, folder: Path) -> str:
        """A text that identifies the data in a folder of this host, even while the server is down; empty if this
        account may not know it.
        """
        ...

    def traces(self) -> Traces:
        """The files of the server that answers, on this host."""
        ...

    def was_shut_down(self, traces: Traces) -> bool | None:
        """Whether a server that is down was shut down, by the traces of when it was up; None if unknown.

        Does not query the server.
        """
        ...

    def close(self) -> None:
        """Close the connection that the engine's parts share; the next query opens it again."""
        ...


def shut_down_by(traces: Traces) -> bool | None:
    """Whether the server was shut down, or a shutdown began, according to its remaining traces."""
    if not traces.running:
        return None
    if traces.listening and not any(map(os.path.lexists, traces.listening)):
        return True
    return not any(map(os.path.lexists, traces.running))
