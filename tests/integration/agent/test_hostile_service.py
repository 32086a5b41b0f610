"""A service that answers drop by drop, beside a real agent process and a real server."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.agent.processes import TOKEN, agent_process, document, guards, write_toml
from tests.support.fakes.service import FakeService, serving
from tests.support.servers.loads import loaded
from tests.support.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

GUARD = {**guards(), "confirm_windows": 100}
ARMED = {"limit": 1000.0, "hold_s": 2}
"""So many times what it was before, which no load holds: it fires on any machine, and only where it is switched on."""


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
    service.then("rec_1", service.dripping.set, qps=ARMED)
    with psycopg.connect(own_postgres.conninfo(), autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")  # a disk may stand still for as long as a window
        insert = partial(connection.execute, "INSERT INTO load VALUES (1)")
        with loaded(insert, rest_s=0.02), agent_process(write_toml(tmp_path / "agent.toml", made)):
            until(lambda: service.busy)
            service.offer("rec_1", {"work_mem": 8192})
            until(lambda: service.outcome("rec_1"))
            assert service.dripped.wait(PATIENCE_S)
            until(lambda: own_postgres.sql("SHOW work_mem") == "4MB")
            service.dripping.clear()
            until(lambda: any(o.state == "reverted" for r in service.reports for o in r.outcomes))


def test_sigterm_ends_an_agent_whose_exchange_hangs(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    made = document(own_postgres, service.url, tmp_path / "state", "observe")
    service.dripping.set()
    with agent_process(write_toml(tmp_path / "agent.toml", made), TOKEN) as process:
        assert service.dripped.wait(PATIENCE_S)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        assert service.dripping.is_set()
