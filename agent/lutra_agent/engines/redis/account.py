"""The agent's user of a server's access list."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from hashlib import sha256

from lutra_agent.engines.common.account import AccountPlan, free_name
from lutra_agent.engines.redis.server.connect import NotPermitted
from lutra_agent.engines.redis.server.rights import grant
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import UNKNOWN, Product, Session
from lutra_agent.errors import CollectionFailed, ConfigError

SAVE = "ACL SAVE"
NO_ACCOUNTS = (
    "this server has no command ACL, and so no account of the agent's own: --print continues with the given one"
)


class RedisAccounts:
    on_replica = True

    def __init__(self, database: RedisDatabase, product: Product) -> None:
        self._session = Session(database, product)

    def plan(self, names: Sequence[str], settings: Sequence[str], password: str) -> AccountPlan:
        """A server with a file of its access list keeps the account there; another one forgets it at its restart."""
        name = free_name(names, self._taken(names))
        made = grant(self._session, name, f"#{sha256(password.encode()).hexdigest()}")
        save = (SAVE,) if self._session.settings().get("aclfile") else ()
        line = made.replace("ACL SETUSER", "user")
        forgets = f"the server forgets this account at its next restart, unless its configuration file has: {line}"
        return AccountPlan({"user": name}, (made, *save), (f"ACL DELUSER {name}", *save), () if save else (forgets,))

    def _taken(self, names: Sequence[str]) -> set[str]:
        """None for an account that may not know it."""
        try:
            return {name for name in names if self._session.connection.ask("ACL", "GETUSER", name) is not None}
        except NotPermitted:
            return set()
        except CollectionFailed as error:
            raise ConfigError(NO_ACCOUNTS if UNKNOWN in str(error).lower() else str(error)) from error

    def execute(self, statement: str, password: str) -> None:
        self._session.connection.ask(*shlex.split(statement))

    def close(self) -> None:
        self._session.connection.close()
