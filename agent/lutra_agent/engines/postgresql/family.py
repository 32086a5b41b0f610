from __future__ import annotations

from lutra_agent.engines.common.account import Accounts
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.family import Family, needs_extra
from lutra_agent.engines.postgresql.address import ADDRESSES
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase


def _open(database: PostgresqlDatabase) -> Engine:
    with needs_extra("postgresql"):
        from lutra_agent.engines.postgresql.engine import open_postgresql
    return open_postgresql(database)


def _accounts(database: PostgresqlDatabase) -> Accounts:
    with needs_extra("postgresql"):
        from lutra_agent.engines.postgresql.account import PostgresAccounts
    return PostgresAccounts(database)


POSTGRESQL = Family("postgresql", "PGPASSWORD", PostgresqlDatabase, _open, ADDRESSES, _accounts)
