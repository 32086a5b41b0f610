"""A service that answers drop by drop, beside a real agent process and a real server."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.agents import TOKEN, agent_process, document, write_toml
from tests.support.fake_service import FakeService, serving
from tests.support.loads import loaded
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

GUARD: dict[str, Any] = {"qps": {"limit": 0.5, "hold_s": 3}, "memory": {"enabled": False}, "confirm_windows": 30}
SLOW = {"commit_delay": 100_000, "commit_siblings": 0}
"""Every commit waits a tenth of a second for others to join it."""


@pytest.fixture
def service() -> Iterator[FakeService]:
    with serving(FakeService()) as found:
        yield found
        found.dripping.clear()


def test_a_guard_takes_a_change_back_while_the_services_answer_drips_and_it_is_told_afterwards(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    own_postgres.sql("CREATE TABLE load (n int)")
    made = document(own_postgres, service.url, tmp_path / "state", "reload_only", guard=GUARD)
    with psycopg.connect(own_postgres.conninfo(), autocommit=True) as connection:
        load = loaded(lambda: connection.execute("INSERT INTO load VALUES (1)"))
        with load, agent_process(write_toml(tmp_path / "agent.toml", made)):
            until(lambda: sum(r.window is not None for r in service.reports) >= 5)
            service.offer("rec_1", SLOW)
            until(lambda: service.outcome("rec_1"))
            service.dripping.set()
            assert service.dripped.wait(60)
            until(lambda: own_postgres.sql("SHOW commit_delay") == "0")
            service.dripping.clear()
            until(lambda: any(o.state == "reverted" for r in service.reports for o in r.outcomes))


def test_sigterm_ends_an_agent_whose_exchange_hangs(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    made = document(own_postgres, service.url, tmp_path / "state", "observe")
    service.dripping.set()
    with agent_process(write_toml(tmp_path / "agent.toml", made), TOKEN) as process:
        assert service.dripped.wait(60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert service.dripping.is_set()
