"""Redis, Valkey and pika, as the agent sees them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.health import ServerIdentity, Traces, shut_down_by
from lutra_agent.engines.common.place import Place, inode_of
from lutra_agent.engines.redis.server.connect import Connection, NotPermitted
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import PRODUCTS, Session
from lutra_agent.engines.redis.sources import conf
from lutra_agent.engines.redis.sources.source import RedisSource
from lutra_agent.engines.redis.telemetry.probe import Probe
from lutra_agent.engines.redis.telemetry.telemetry import RedisTelemetry
from lutra_agent.errors import CollectionFailed, LoginRefused

READY = "Ready to accept connections"

log = logging.getLogger(__name__)


def open_engine(database: RedisDatabase, name: str) -> Engine:
    """Connects lazily."""
    session = Session(database, PRODUCTS[name])
    probe = Probe(Connection(database, answer_s=None), database.probe_per_s) if database.probe_per_s else None
    source = RedisSource(session, conf.PIKA if name == "pika" else conf.REDIS)
    health = RedisHealth(session) if probe is None else RedisHealth(session, probe.stop)
    return Engine(name, health, RedisTelemetry(session, probe), (source,))


class RedisHealth:
    managers: tuple[str, ...] = ("redis-sentinel", "valkey-sentinel")

    def __init__(self, session: Session, stop: Callable[[], None] = lambda: None) -> None:
        """`stop` ends what else is connected to the server."""
        self.programs = session.product.programs
        self._session = session
        self._stop = stop

    def ping(self) -> None:
        try:
            self._session.connection.ask("PING")
        except NotPermitted as error:
            raise LoginRefused(str(error)) from error
        except CollectionFailed as error:
            # It runs: a script keeps it busy, or no snapshot can be written.
            log.debug("the server answers a PING by %s", error)

    def started(self) -> str:
        info = self._session.info("server")
        return info.get("run_id") or info.get("process_id", "")

    def traces(self) -> Traces:
        """If it crashes by its own fault, a server that runs in the background removes the first of them."""
        try:
            return Traces(self._session.left_behind(), log=self._session.log(), ready=READY)
        except CollectionFailed:
            return Traces()

    def was_shut_down(self, traces: Traces) -> bool | None:
        return shut_down_by(traces)

    def identity(self) -> ServerIdentity:
        return ServerIdentity(self._session.details().version, self._session.role(), "")

    def place(self) -> Place:
        return self._session.details().place

    def name_in(self, folder: Path) -> str:
        return inode_of(folder)

    def close(self) -> None:
        self._stop()
        self._session.connection.close()
