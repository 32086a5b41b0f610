"""Where MySQL and MariaDB differ: what the family's engine asks of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lutra_models.catalog.rows import KnobRow
from lutra_models.server import ServerSetting

from lutra_agent.engines.common.engine import Permissions, Statement, Visible
from lutra_agent.engines.mysql.histogram import Histogram
from lutra_agent.engines.mysql.server.connect import Connection


@dataclass(frozen=True)
class ServerIdentity:
    """What stays the same until the server restarts. `started_s` is an epoch second, None where nobody knows."""

    version: str
    data_dir: Path
    pid: int | None
    started_s: float | None
    identifier: str = ""


class Flavour(Protocol):
    @property
    def family(self) -> str: ...
    @property
    def programs(self) -> tuple[str, ...]:
        """What the server's process is called."""
        ...

    def serves(self, version: str) -> bool:
        """Whether a server that calls its version so is one of these."""
        ...

    def settings(
        self, connection: Connection, rows: Sequence[KnobRow], identity: ServerIdentity
    ) -> dict[str, ServerSetting]: ...

    def restarts(self, connection: Connection, row: KnobRow) -> bool:
        """Whether a setting takes a new value at the start alone."""
        ...

    def file(self, data_dir: Path | None) -> Path | None:
        """The file that keeps settings over a restart."""
        ...

    def rewritten(self, content: bytes, texts: Mapping[str, str | None], now_s: float) -> bytes:
        """That file's content with these texts in it. Raises ValueError for content that is none."""
        ...

    def file_says(self, content: bytes) -> Mapping[str, str]:
        """Setting → text."""
        ...

    def make(self, name: str, text: str, restart: bool) -> tuple[Statement, ...]:
        """The steps that give a setting a value, at once or with the next restart."""
        ...

    def undo_statements(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Statement, ...]:
        """The steps after which the file says `text` again (nothing, where None) and `active` is active."""
        ...

    def identifier(self, connection: Connection) -> str:
        """What the server calls itself, empty where it has no name of its own."""
        ...

    def histogram(self, connection: Connection) -> Histogram | None: ...

    def transactions(self, connection: Connection) -> float | None:
        """Transactions that ended since the server started, where it counts them all."""
        ...

    def permissions(self, grants: frozenset[str], account: str, names: Mapping[str, bool]) -> Permissions:
        """`names` are settings, and whether each needs a restart."""
        ...

    def visible(self, connection: Connection, grants: frozenset[str], account: str) -> tuple[Visible, ...]: ...
