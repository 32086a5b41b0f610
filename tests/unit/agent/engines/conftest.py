from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from lutra_agent.engines.mysql.server import connect as mysql
from lutra_agent.engines.postgresql.server import connect as postgresql
from lutra_agent.engines.redis.server import connect as redis
from psycopg import pq

from tests.support.waiting import PATIENCE_S


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever listens in a thread of a busy machine may take longer to greet than a server does.

    libpq's ping halts the whole process while it waits, those who listen in it too: they never answer it.
    """

    def ping(where: bytes) -> pq.Ping:
        assert b"password=" not in where
        return pq.Ping.NO_RESPONSE

    known: dict[str, Any] = {**vars(pq), "PGconn": SimpleNamespace(ping=ping)}
    monkeypatch.setattr(postgresql, "pq", SimpleNamespace(**known))
    for module, limit in ((postgresql, "CONNECT_TIMEOUT_S"), (mysql, "CONNECT_TIMEOUT_S"), (redis, "TIMEOUT_S")):
        monkeypatch.setattr(module, limit, int(PATIENCE_S))
