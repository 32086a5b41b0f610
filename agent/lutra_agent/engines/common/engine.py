"""What the agent asks of a database engine. Everything else in the agent is the same for all of them.

A family is a value in `lutra_agent.engines.families.FAMILIES`; a new one is one folder and one line in that tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from lutra_models.catalog import Change
from lutra_models.metrics import P99Of, P99Source
from lutra_models.server import Host, Server


@dataclass(frozen=True)
class Reading:
    """What one collector saw. `epoch` changes when the counters started again (a restart, a statistics reset)."""

    counters: Mapping[str, float] = field(default_factory=dict)
    gauges: Mapping[str, float] = field(default_factory=dict)
    epoch: str = ""


@dataclass(frozen=True)
class Sample:
    """All collectors at one moment; `statements` is the engine's own and opaque to everybody else."""

    at: datetime
    monotonic_s: float
    readings: Mapping[str, Reading]
    statements: Any = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Latency:
    """The 99th percentile of a window, in milliseconds, and where it comes from."""

    p99_ms: float
    source: P99Source
    of: P99Of


@dataclass(frozen=True)
class Targets:
    """What an engine knows of the target metrics over a window; what it does not know is absent."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    latency: Latency | None = None


@dataclass(frozen=True)
class Statement:
    """One step of a change: the setting, and the exact text that the server is given."""

    setting: str
    text: str


@dataclass(frozen=True)
class Visible:
    """One line of `lutra-agent check`: what it is, whether it is there, and how to get it where it is not.

    `p99` says in words where the 99th percentile comes from, where this is what gives it.
    """

    name: str
    available: bool
    detail: str = ""
    remedy: str = ""
    p99: str = ""


@dataclass(frozen=True)
class Permissions:
    """Which settings the agent's account may change, and the statements that would let it change the others."""

    changeable: frozenset[str]
    may_reload: bool
    remedies: tuple[str, ...] = ()
    explanation: str = ""


class Engine(Protocol):
    """One database server. Every method raises DatabaseUnavailable where it cannot be reached.

    `programs` are what the server's process is called. A server that `rounds` answers a number that it cannot take with
    one that it can: what it then reports is its answer, not a failure. Where it `reads_file_at_start_alone`, a restored
    file becomes active with a restart.
    """

    family: str
    programs: tuple[str, ...]
    rounds: bool
    reads_file_at_start_alone: bool

    def ping(self) -> None:
        """Raises LoginRefused, or ServerStarting, where it is known that the server runs."""
        ...

    def started(self) -> str:
        """What tells this start of the server from any other; empty where nothing does."""
        ...

    def server(self, host: Host) -> Server:
        """The catalogue's settings as the live server reports them, and no other setting."""
        ...

    def sample(self, at: datetime, monotonic_s: float) -> Sample: ...

    def targets(self, before: Sample, after: Sample) -> Targets:
        """Target metrics between two samples that no reset separates."""
        ...

    def permissions(self, names: Iterable[str]) -> Permissions: ...

    def execute(self, statements: Sequence[Statement]) -> None:
        """Carry out a change's statements in order. Raises ApplyRefused for the first that the server refuses."""
        ...

    def change(self, change: Change, restart: bool) -> tuple[Statement, ...]:
        """What makes one change: in the settings file, and active; where a `restart` comes, that is left to it."""
        ...

    def undo_statements(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Statement, ...]:
        """What makes the settings file say `text` again (nothing of the setting, where None), and `active` active.

        Where a `restart` comes, that is left to it.
        """
        ...

    def reload(self) -> None:
        """Make what `execute` did active; where the server works on that for a while, wait for it.

        Raises ApplyRefused where that fails, or takes too long.
        """
        ...

    def settings_file(self) -> Path | None:
        """The file which `execute` changes, where this host has it."""
        ...

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        """The same file of a server that is down: by the agent's own file, or in the folder of the server's data."""
        ...

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        """A settings file's content with these texts in it, nothing of a setting where None, and all else as it was.

        Raises ValueError for content that is none of the server's.
        """
        ...

    def file_says(self, content: bytes) -> Mapping[str, str]:
        """Setting → text in a settings file of this content."""
        ...

    def data_dir(self) -> Path | None:
        """Where this host has the server's data, as far as the account may know."""
        ...

    def process_id(self) -> int | None:
        """The server's process on this host: its container's limits are the ones that count."""
        ...

    def visible(self) -> tuple[Visible, ...]: ...

    def close(self) -> None: ...
