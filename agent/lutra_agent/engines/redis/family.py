from __future__ import annotations

from collections.abc import Callable

from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.family import Family, needs_extra
from lutra_agent.engines.redis import address
from lutra_agent.engines.redis.server.section import RedisDatabase

PASSWORD_VARIABLE = "REDISCLI_AUTH"  # noqa: S105


def _opens(name: str) -> Callable[[RedisDatabase], Engine]:
    def open_it(database: RedisDatabase) -> Engine:
        with needs_extra("redis"):
            from lutra_agent.engines.redis.engine import open_engine
        return open_engine(database, name)

    return open_it


REDIS, VALKEY, PIKA = (
    Family(name, PASSWORD_VARIABLE, RedisDatabase, _opens(name), addresses)
    for name, addresses in (("redis", address.REDIS), ("valkey", address.VALKEY), ("pika", None))
)
