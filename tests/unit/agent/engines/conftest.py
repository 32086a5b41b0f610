from __future__ import annotations

import pytest

from tests.support.waiting import PATIENCE_S


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever listens in a thread of a busy machine may take longer to greet than a server does."""
    for engine in ("postgresql", "mysql"):
        monkeypatch.setattr(f"lutra_agent.engines.{engine}.server.connect.CONNECT_TIMEOUT_S", int(PATIENCE_S))
    monkeypatch.setattr("lutra_agent.engines.redis.server.connect.TIMEOUT_S", PATIENCE_S)
