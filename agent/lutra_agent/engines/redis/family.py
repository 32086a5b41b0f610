from __future__ import annotations

from collections.abc import Callable

from lutra_agent.engines.common.account import Accounts
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


def _accounts(name: str) -> Callable[[RedisDatabase], Accounts]:
    def accounts(database: RedisDatabase) -> Accounts:
        with needs_extra("redis"):
            from lutra_agent.engines.redis.account import RedisAccounts
            from lutra_agent.engines.redis.server.session import PRODUCTS
        return RedisAccounts(database, PRODUCTS[name])

    return accounts


REDIS, VALKEY = (
    Family(name, PASSWORD_VARIABLE, RedisDatabase, _opens(name), addresses, _accounts(name))
    for name, addresses in (("redis", address.REDIS), ("valkey", address.VALKEY))
)
PIKA = Family("pika", PASSWORD_VARIABLE, RedisDatabase, _opens("pika"))
