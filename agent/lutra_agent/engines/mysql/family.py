from __future__ import annotations

from lutra_agent.engines.common.account import Accounts
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.family import Family, needs_extra
from lutra_agent.engines.mysql import address
from lutra_agent.engines.mysql.address import PASSWORD_VARIABLE
from lutra_agent.engines.mysql.server.section import MariadbDatabase, MysqlDatabase


def _open_mysql(database: MysqlDatabase) -> Engine:
    with needs_extra("mysql"):
        from lutra_agent.engines.mysql.engine import open_mysql
    return open_mysql(database)


def _open_mariadb(database: MariadbDatabase) -> Engine:
    with needs_extra("mysql"):
        from lutra_agent.engines.mysql.engine import open_mariadb
    return open_mariadb(database)


def _mysql_accounts(database: MysqlDatabase) -> Accounts:
    with needs_extra("mysql"):
        from lutra_agent.engines.mysql.account import MysqlAccounts
    return MysqlAccounts(database)


def _mariadb_accounts(database: MariadbDatabase) -> Accounts:
    with needs_extra("mysql"):
        from lutra_agent.engines.mysql.account import MariadbAccounts
    return MariadbAccounts(database)


MYSQL = Family("mysql", PASSWORD_VARIABLE, MysqlDatabase, _open_mysql, address.MYSQL, _mysql_accounts)
MARIADB = Family("mariadb", PASSWORD_VARIABLE, MariadbDatabase, _open_mariadb, address.MARIADB, _mariadb_accounts)
