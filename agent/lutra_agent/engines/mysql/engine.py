"""MySQL and MariaDB, as the agent sees them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.mysql.health import MysqlHealth
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.section import MariadbDatabase, MysqlDatabase
from lutra_agent.engines.mysql.server.session import Product, Session
from lutra_agent.engines.mysql.sources.changing import Changing
from lutra_agent.engines.mysql.sources.mariadb import IncludeFile
from lutra_agent.engines.mysql.sources.mysql import Persisted
from lutra_agent.engines.mysql.sources.source import MysqlSource, Store
from lutra_agent.engines.mysql.telemetry.figures import MariadbFigures, MysqlFigures
from lutra_agent.engines.mysql.telemetry.telemetry import Figures, MysqlTelemetry

MYSQL = Product(
    "mysql",
    ("mysqld", "mysqld-debug"),
    "SELECT @@GLOBAL.server_uuid",
    "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()",
)
MARIADB = Product(
    "mariadb",
    ("mariadbd", "mysqld"),
    "SHOW GLOBAL VARIABLES LIKE 'server_uid'",
    "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()",
    mariadb=True,
)


def open_mysql(database: MysqlDatabase) -> Engine:
    """Connects lazily."""
    return assembled(database, Session(Connection(database), MYSQL), MysqlFigures(), Persisted())


def open_mariadb(database: MariadbDatabase) -> Engine:
    """Connects lazily."""
    session = Session(Connection(database), MARIADB)
    file = database.include_file
    return assembled(database, session, MariadbFigures(), IncludeFile(file), include_file=file)


def assembled(
    database: MysqlDatabase,
    session: Session,
    figures: Figures,
    store: Store,
    now_s: Callable[[], float] = time.time,
    include_file: Path | None = None,
) -> Engine:
    """An engine of the family over one session."""
    source = MysqlSource(session, store, Changing(database, session.connection, now_s, include_file), now_s)
    return Engine(session.product.family, MysqlHealth(session), MysqlTelemetry(session, figures), (source,))
