"""The agent's connections, and its engines over them, with anybody who answers behind them."""

from __future__ import annotations

import os
from ast import literal_eval
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import psutil
from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.peer import Peer
from lutra_agent.engines.mysql.engine import MARIADB, MYSQL, assembled
from lutra_agent.engines.mysql.server.connect import Connection as MysqlConnection
from lutra_agent.engines.mysql.server.section import MariadbDatabase, MysqlDatabase
from lutra_agent.engines.mysql.server.session import Session as MysqlSession
from lutra_agent.engines.mysql.sources.mariadb import IncludeFile
from lutra_agent.engines.mysql.sources.mysql import Persisted
from lutra_agent.engines.mysql.telemetry.figures import MariadbFigures, MysqlFigures
from lutra_agent.engines.postgresql.engine import PostgresHealth
from lutra_agent.engines.postgresql.server.connect import ANSWER_S
from lutra_agent.engines.postgresql.server.connect import Connection as PostgresConnection
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.engines.postgresql.server.session import Session as PostgresSession
from lutra_agent.engines.postgresql.source import PostgresSource
from lutra_agent.engines.postgresql.telemetry.telemetry import PostgresTelemetry
from lutra_agent.engines.redis.engine import RedisHealth
from lutra_agent.engines.redis.server.connect import Connection as RedisConnection
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import PRODUCTS
from lutra_agent.engines.redis.server.session import Session as RedisSession
from lutra_agent.engines.redis.sources import conf
from lutra_agent.engines.redis.sources.source import RedisSource
from lutra_agent.engines.redis.telemetry.telemetry import RedisTelemetry
from lutra_lab.servers.base import ScratchServer

from tests.support.odd.heard import Asks, Question

GREETING = ("greeting",)
"""The question for the version that a server of the MySQL family says at first."""
HERE = Peer(process=os.getpid())
PROGRAMS = (psutil.Process().name(),)
"""Each simulated server is a process of this host: the test's own."""


class Postgres(PostgresConnection):
    def __init__(self, database: PostgresqlDatabase, asks: Asks) -> None:
        super().__init__(database)
        self._asks = asks

    @property
    def pooled(self) -> bool:
        return False

    def peer(self) -> Peer:
        return HERE

    def prepared_row(self, query: str, parameters: Sequence[str]) -> list[bytes | None]:
        _, rows = self._asks((query, tuple(parameters)))
        return [None if v is None else v if isinstance(v, bytes) else str(v).encode() for v in rows[0]]

    def _execute(self, query: str, parameters: Sequence[Any] | None, answer_s: float) -> Any:
        return self._asks((query, repr(parameters)))


class Mysql(MysqlConnection):
    generation = 1

    def __init__(self, database: MysqlDatabase, asks: Asks) -> None:
        super().__init__(database)
        self._asks = asks
        self.generation = 1

    def peer(self) -> Peer:
        return HERE

    @property
    def server_version(self) -> str:
        return str(self._asks(GREETING))

    def named_rows(self, query: str, parameters: Sequence[Any] | None = None) -> Any:
        self.durations_s.append(0.001)
        return self._asks((query, repr(parameters)))


class Redis(RedisConnection):
    def __init__(self, database: RedisDatabase, asks: Asks) -> None:
        super().__init__(database)
        self._asks = asks
        self.generation = 1

    def ask(self, *words: str) -> Any:
        self.asked += 1
        return self._asks(words)

    def peer(self) -> Peer:
        return HERE


def section(server: ScratchServer) -> DatabaseConfig:
    """Where a real server is, as the agent's file says it."""
    where: dict[str, Any] = {"engine": server.engine, "host": server.host, "port": server.port, "user": server.user}
    if server.engine == "postgresql":
        return PostgresqlDatabase(**where, dbname=str(server.describe()["dbname"]))
    kinds: dict[str, type[DatabaseConfig]] = {"mysql": MysqlDatabase, "mariadb": MariadbDatabase}
    return kinds.get(server.engine, RedisDatabase)(**where)


def real(database: Any) -> Asks:
    """Who asks the server itself."""
    if database.engine == "postgresql":
        postgres = PostgresConnection(database)
        return lambda question: postgres._execute(question[0], literal_eval(question[1]), ANSWER_S)
    if database.engine in ("mysql", "mariadb"):
        mysql = MysqlConnection(database)
        return lambda q: mysql.server_version if q == GREETING else mysql.named_rows(q[0], literal_eval(q[1]))
    redis = RedisConnection(database)
    return lambda question: redis.ask(*question)


def engine_over(database: Any, asks: Asks) -> Engine:
    """The agent's own engine; nothing of it runs in a thread."""
    if database.engine == "postgresql":
        session = PostgresSession(Postgres(database, asks))
        source = PostgresSource(session, database.engine)
        return Engine(database.engine, PostgresHealth(session), PostgresTelemetry(session), (source,))
    if database.engine == "mysql":
        return assembled(
            database,
            MysqlSession(Mysql(database, asks), replace(MYSQL, programs=PROGRAMS)),
            MysqlFigures(),
            Persisted(),
        )
    if database.engine == "mariadb":
        return assembled(
            database,
            MysqlSession(Mysql(database, asks), replace(MARIADB, programs=PROGRAMS)),
            MariadbFigures(),
            IncludeFile(None),
        )
    store = RedisSession(database, replace(PRODUCTS[database.engine], programs=PROGRAMS))
    store.connection = Redis(database, asks)
    form = conf.PIKA if database.engine == "pika" else conf.REDIS
    telemetry = RedisTelemetry(store)
    return Engine(database.engine, RedisHealth(store), telemetry, (RedisSource(store, form),))


__all__ = ["GREETING", "PROGRAMS", "Question", "engine_over", "real", "section"]
