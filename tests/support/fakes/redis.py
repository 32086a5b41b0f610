"""A Redis in memory: PING, INFO and CONFIG, its file, and what its data are after a restart."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lutra_agent.config.types import RestartConfig
from lutra_agent.control.restore_progress import RecordedProgress
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.peer import Peer
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.redis.engine import RedisHealth
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import PRODUCTS, Info, Session
from lutra_agent.engines.redis.sources import conf
from lutra_agent.engines.redis.sources.source import RedisSource
from lutra_agent.engines.redis.telemetry.telemetry import RedisTelemetry
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.store import State
from lutra_models.server import Host, Server

from tests.support.agent.directed import Directed
from tests.support.fakes.clock import FakeClock

DEFAULTS = {
    "maxmemory": "0",
    "io-threads": "1",
    "save": "3600 1 300 100 60 10000",
    "appendonly": "no",
    "maxmemory-policy": "noeviction",
    "maxmemory-samples": "5",
    "hz": "10",
    "tcp-backlog": "511",
}
RESTART = {"io-threads", "tcp-backlog"}
LOOKS = 2
"""How often somebody has to ask until the first append-only file is whole."""


class FakeRedis:
    """`keys` counts what it holds; `snapshot` and `log` what its two files on disk do."""

    def __init__(self, file: Path) -> None:
        self.file, self.up, self.cannot_save = file, True, False
        self.keys, self.snapshot, self.log, self.begins = 0, 0, 0, 0
        self.generation, self.asked, self.starts = 1, 0, 0
        self.live: dict[str, str] = {}
        self.start()

    def start(self) -> None:
        said = conf.REDIS.says(self.file.read_bytes(), frozenset(DEFAULTS))
        self.live = {n: said.get(n, v) for n, v in DEFAULTS.items()}
        self.keys = self.log if self.live["appendonly"] == "yes" else self.snapshot
        self.log, self.begins = self.keys, 0
        self.up, self.starts = "broken" not in said, self.starts + 1

    def stop(self) -> None:
        self.snapshot = self.keys if self.live["save"] else self.snapshot
        self.up = False

    def write(self, keys: int) -> None:
        self.keys += keys
        if self.live["appendonly"] == "yes" and not self.begins:
            self.log = self.keys

    def ask(self, *words: str) -> Any:
        if not self.up:
            self.generation += 1
            raise DatabaseUnavailable("connection refused")
        match [word.upper() for word in words[:2]]:
            case ["PING"] if self.cannot_save:
                raise CollectionFailed("MISCONF Redis is configured to save RDB snapshots, but it's unable to persist")
            case ["PING"]:
                return "PONG"
            case ["INFO", _]:
                return self._info()
            case ["CONFIG", "GET"]:
                return [word for name, v in self.live.items() if words[2] in ("*", name) for word in (name, v)]
            case ["CONFIG", "SET"]:
                return self._set(dict(zip(words[2::2], words[3::2], strict=True)))
        raise CollectionFailed(f"ERR unknown command {words[0]}")

    def text(self, *words: str) -> str:
        return str(self.ask(*words))

    def pairs(self, *words: str) -> dict[str, str]:
        found = self.ask(*words)
        return dict(zip(found[::2], found[1::2], strict=True))

    def peer(self) -> Peer:
        return Peer()

    def close(self) -> None:
        """Nothing is open."""

    def _info(self) -> str:
        begins, self.begins = self.begins, max(self.begins - 1, 0)
        if begins == 1:
            self.log = self.keys
        saves = "err" if self.cannot_save else "ok"
        return "\r\n".join(
            (
                f"redis_version:7.0.15\r\nrun_id:{self.starts}\r\nconfig_file:{self.file}\r\nrole:master",
                f"mem_allocator:libc\r\nused_memory:1000\r\nrdb_last_bgsave_status:{saves}",
                f"aof_rewrite_in_progress:{int(begins > 0)}\r\naof_last_bgrewrite_status:ok",
            )
        )

    def _set(self, values: dict[str, str]) -> str:
        for name in values:
            if name in RESTART or name not in DEFAULTS:
                raise CollectionFailed(f"ERR CONFIG SET failed: {name}")
        if values.get("appendonly") == "yes" and self.live["appendonly"] == "no":
            self.begins, self.log = LOOKS, 0
        self.live |= values
        return "OK"


class FakeRedisControl(ServerControl):
    def __init__(self, fake: FakeRedis, health: RedisHealth, clock: FakeClock, state: State) -> None:
        commands = RestartConfig(("restart",), ("start",))
        super().__init__(commands, health, clock, state, progress=RecordedProgress(ChangeStore(state)))
        self.fake, self.restarts = fake, 0

    def _run(self, command: Sequence[str]) -> tuple[int | str, str]:
        if command == ("restart",):
            self.restarts += 1
            self.fake.stop()
        self.fake.start()
        return (0 if self.fake.up else 1), ""


class SessionHere(Session):
    """With a server that runs on this host, in this process."""

    def _place(self, info: Info) -> Place:
        assert self.database.config_file is not None
        return Place(os.getpid(), self.database.config_file.parent)


class RedisEngine:
    """The agent's engine over a Redis in memory, as `Directed` asks it."""

    def __init__(self, fake: FakeRedis) -> None:
        connection: Any = fake
        session = SessionHere(
            RedisDatabase(engine="redis", host="127.0.0.1", port=1, config_file=fake.file), PRODUCTS["redis"]
        )
        session.connection = connection
        self.health = RedisHealth(session)
        self.opened = Engine("redis", self.health, RedisTelemetry(session), (RedisSource(session, conf.REDIS),))

    def server(self, host: Host) -> Server:
        return self.opened.server(host)


def directed_redis(folder: Path, text: str = "") -> tuple[FakeRedis, Directed]:
    """A Redis that was started with a file of this text, and an agent's side of directives against it."""
    file = folder / "redis.conf"
    file.write_text(text)
    fake = FakeRedis(file)
    made: Any = RedisEngine(fake)
    clock, state = FakeClock(), State(folder / "state")
    control: Any = FakeRedisControl(fake, made.health, clock, state)
    return fake, Directed(made, control, state, clock, durability=True, by_catalogue=False)
