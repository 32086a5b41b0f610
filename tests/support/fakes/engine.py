"""A database server in memory: a settings file, active values, counters, and faults on demand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lutra_agent.clock import Clock
from lutra_agent.config.types import RestartConfig
from lutra_agent.control.restore_progress import RecordedProgress
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.health import ServerIdentity, Traces, shut_down_by
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.common.source import Activation, Backing, Permissions, Scope
from lutra_agent.engines.common.telemetry import Latency, Reading, Sample, Targets, Visible
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, LoginRefused, ServerStarting
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.store import State
from lutra_models.catalog import Change, meet
from lutra_models.catalog.statements import Step, renderer
from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER, Host, Role, Server, ServerSetting

from tests.support.fakes.host import FakeHost

SETTINGS = {
    "work_mem": ServerSetting("4096", "kB", "integer", 64, 2147483647),
    "random_page_cost": ServerSetting("4", "", "real", 0, 1.79769e308),
    "max_wal_size": ServerSetting("1024", "MB", "integer", 2, 2147483647),
    "jit": ServerSetting("on", "", "bool"),
    "synchronous_commit": ServerSetting("on", "", "enum", options=("local", "on", "off")),
    "shared_buffers": ServerSetting("16384", "8kB", "integer", 16, 1073741823, applies="restart"),
    "max_connections": ServerSetting("100", "", "integer", 1, 262143, applies="restart"),
    "wal_buffers": ServerSetting("512", "8kB", "integer", -1, 262143, applies="restart"),
}
HOST = Host(memory_bytes=8 << 30, cores=4)


@dataclass
class FakeEngine(Backing, Activation):
    """`breaks` says whether a server with this file starts; `file` is the settings file, kept on disk as well.

    `coming_up` says of one that is not up that it runs all the same. `here` says whether it is known to run on this
    host, and `names` whose data a folder holds, where another server's may lie there.
    """

    path: Path
    version: str = "16.4"
    role: Role = "primary"
    up: bool = True
    coming_up: bool = False
    locks_out: bool = False
    unreadable: bool = False
    breaks: Callable[[dict[str, str]], bool] = lambda file: False
    refuses: set[str] = field(default_factory=set)
    refuses_reload: bool = False
    ungranted: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)
    settings: dict[str, ServerSetting] = field(default_factory=lambda: dict(SETTINGS))
    defaults: dict[str, ServerSetting] = field(default_factory=lambda: dict(SETTINGS))
    commits: float = 0.0
    texts: dict[str, str] = field(default_factory=dict)
    p99_ms: float = 12.5
    calls: int = 0
    epoch: str = "first"
    came_up: int = 1
    statements: list[str] = field(default_factory=list)
    family: str = "postgresql"
    programs: tuple[str, ...] = ("postgres", "postmaster")
    managers: tuple[str, ...] = ("patroni",)
    name: str = SERVER
    scope: Scope = "server"
    peak_connections: int = 0
    rounds: bool = False
    read_at_start_alone: bool = False
    held_while_down: frozenset[str] = frozenset()
    host: FakeHost | None = None
    here: bool = True
    identifier: str = ""
    names: dict[Path, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.exists():
            self.path.write_text("")
            self.pid_file.touch()
        self.catalogue = self.family

    @property
    def backing(self) -> Backing:
        return self

    @property
    def activation(self) -> Activation:
        return self

    @property
    def pid_file(self) -> Path:
        """There while the server runs, and after a crash."""
        return self.path.with_name("server.pid")

    @property
    def opened(self) -> Engine:
        """What the agent asks: this server in its three parts, with what its host keeps."""
        return Engine(self.family, self, self, (self,) if self.host is None else (self, self.host))

    @property
    def file(self) -> dict[str, str]:
        return self.says(self.path.read_bytes())

    def active(self) -> dict[str, str]:
        return {n: s.value for n, s in self.settings.items()}

    def ping(self) -> None:
        if not self.up:
            raise (ServerStarting if self.coming_up else DatabaseUnavailable)("connection refused")
        if self.locks_out:
            raise LoginRefused("too many connections")

    def started(self) -> str:
        self.ping()
        return str(self.came_up)

    def identity(self) -> ServerIdentity:
        self.ping()
        return ServerIdentity(self.version, self.role, self.identifier)

    def server(self, host: Host) -> Server:
        return self.opened.server(host)

    def read(self) -> dict[str, ServerSetting]:
        self.ping()
        if self.unreadable:
            raise CollectionFailed("permission denied")
        return self._settings()

    def _settings(self) -> dict[str, ServerSetting]:
        file = self.file
        return {n: replace(s, persisted=file.get(n)) for n, s in self.settings.items()}

    def sample(self, at: datetime, monotonic_s: float) -> Sample:
        self.ping()
        database = Reading({"xact_commit": self.commits}, {"numbackends": 3.0}, texts=dict(self.texts))
        return Sample(at, monotonic_s, {"server": Reading(epoch=self.epoch), "database": database})

    def targets(self, before: Sample, after: Sample) -> Targets:
        seconds = after.monotonic_s - before.monotonic_s
        latency = Latency(self.p99_ms, "estimated", "statement")
        old, new = before.readings.get("database"), after.readings.get("database")
        if old is None or new is None:
            return Targets(latency=latency)
        return Targets({"tps": (new.counters["xact_commit"] - old.counters["xact_commit"]) / seconds}, latency)

    def permissions(self, names: Iterable[str]) -> Permissions:
        self.ping()
        return Permissions(frozenset(names) - self.ungranted, True, ("GRANT it;",) if self.ungranted else ())

    def execute(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.ping()
            if step.setting in self.refuses:
                raise ApplyRefused(ApplyCode.INVALID_VALUE, f"{step.setting}: refused")
            self.statements.append(step.text)
            self._write(step)

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        return renderer(self.catalogue).change(change.name, change.value_text, restart)

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        return renderer(self.catalogue).undo(name, text, active, restart)

    def reload(self) -> None:
        self.ping()
        if self.refuses_reload:
            raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, "pg_reload_conf(): permission denied")
        self.take_file(restarted=False)

    def settings_file(self) -> Path | None:
        self.ping()
        return self.path if self.here else None

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        return None if data_dir is None else data_dir / self.path.name

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        kept = [line for line in content.decode().splitlines() if line.split(" ")[0] not in texts]
        lines = [f"{name} = '{text}'" for name, text in texts.items() if text is not None]
        return "".join(f"{line}\n" for line in [*kept, *lines]).encode()

    def says(self, content: bytes) -> dict[str, str]:
        return dict(re.findall(r"^(\w+) = '(.*)'$", content.decode(), re.MULTILINE))

    def place(self) -> Place:
        self.ping()
        return Place(folder=self.path.parent) if self.here else Place(doubt="it runs elsewhere")

    def name_in(self, folder: Path) -> str:
        return self.names.get(folder, str(folder))

    def visible(self) -> tuple[Visible, ...]:
        return (Visible("pg_stat_database", True),)

    def close(self) -> None:
        self.calls += 1

    def traces(self) -> Traces:
        return Traces((self.pid_file,))

    def was_shut_down(self, traces: Traces) -> bool | None:
        return shut_down_by(traces)

    def shut_down(self) -> None:
        self.up = False
        self.pid_file.unlink()

    def start(self) -> None:
        """What a start does: the file decides whether the server comes up."""
        self.up = not self.breaks(self.file)
        if self.up:
            self.pid_file.touch()
        else:
            self.pid_file.unlink(missing_ok=True)
        if self.up and self.host is not None:
            self.host.server_started()
        if self.up:
            self.came_up += 1
            self.take_file(restarted=True)

    def take_file(self, restarted: bool) -> None:
        live = meet(Server(self.family, self.version, self._settings(), HOST, self.role))
        file = self.file
        for name, old in self.settings.items():
            text = file.get(name)
            value = self.defaults[name].value if text is None else str(live.parse(name, text))
            if name == "wal_buffers" and value == "-1":
                value = "512"
            if name in self.ignored:
                continue
            if old.applies == "restart" and not restarted:
                self.settings[name] = replace(old, pending_restart=value != old.value)
            else:
                self.settings[name] = replace(old, value=value, pending_restart=False)

    def _write(self, step: Step) -> None:
        file = self.file
        found = re.fullmatch(r"ALTER SYSTEM SET \w+ = '(.*)'", step.text)
        file.pop(step.setting, None)
        if found:
            file[step.setting] = found[1]
        self.path.write_text("".join(f"{n} = '{v}'\n" for n, v in file.items()))


class FakeControl(ServerControl):
    """Restarts the server in memory. `killed` raises in the middle of a restart, as a SIGKILL would end it there."""

    def __init__(self, engine: FakeEngine, clock: Clock, allowed: bool = True, state: State | None = None) -> None:
        command = ("restart",) if allowed else ()
        progress = RecordedProgress(ChangeStore(state)) if state else None
        super().__init__(RestartConfig(command, ("start",)), engine, clock, state, progress=progress)
        self.fake = engine
        self.restarts = 0
        self.starts = 0
        self.killed: BaseException | None = None

    def _run(self, command: Sequence[str]) -> tuple[int | str, str]:
        self.restarts += command == self._config.command
        if self.killed is not None:
            raise self.killed
        self.starts += 1
        self.fake.start()
        return (0 if self.fake.up else 1), ""


class NoSignals:
    def __enter__(self) -> NoSignals:
        return self

    def __exit__(self, *error: Any) -> None:
        return None
