from __future__ import annotations

from collections.abc import Callable

from lutra_agent.engines.common.account import Accounts
from lutra_agent.engines.common.address import Addresses, Table, parsed, system_authorities
from lutra_agent.engines.common.engine import Engine, Family, needs_extra
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.errors import ConfigError

PASSWORD_VARIABLE = "REDISCLI_AUTH"  # noqa: S105

PORT = 6379
OPTIONS = ("unix_socket", "socket", "ssl_ca_certs", "cacert")
ENCRYPTED = ("rediss", "valkeys")
WORDS = {
    " on -@all resetkeys": "",
    " +config|set": "",
    "database.tls_ca": "ssl_ca_certs=FILE in the URL",
    "database.host": "?socket=FILE in the URL",
    "# config_file": "# in the server's own configuration file, which CONFIG REWRITE writes as well",
}
"""An agent has its own account with only its rights. A look uses a person's account, which keeps its rights."""
NO_PASSWORD = "NOAUTH"  # noqa: S105


def table(address: str) -> Table:
    """The number of a database does not matter, because a server is examined as a whole.

    With a scheme without TLS, the password is sent as the server's own client sends it.
    """
    url = parsed(address, OPTIONS)
    socket = url.options.get("unix_socket") or url.options.get("socket")
    authority = url.options.get("ssl_ca_certs") or url.options.get("cacert")
    found: Table = {"host": socket or url.host or "127.0.0.1", "port": url.port or PORT, "user": url.user or "default"}
    if url.scheme in ENCRYPTED:
        return {**found, "tls_ca": authority or system_authorities()}
    if authority:
        raise ConfigError(f"{address}: an authority needs an encrypted connection: {url.scheme}s://")
    return {**found, "password_in_clear": True}


REDIS_ADDRESSES = Addresses(("redis://", "rediss://"), table, NO_PASSWORD, WORDS)
VALKEY_ADDRESSES = Addresses(("valkey://", "valkeys://"), table, NO_PASSWORD, WORDS)


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
    for name, addresses in (("redis", REDIS_ADDRESSES), ("valkey", VALKEY_ADDRESSES))
)
PIKA = Family("pika", PASSWORD_VARIABLE, RedisDatabase, _opens("pika"))
