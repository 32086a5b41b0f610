"""Guards and full disks beside MySQL and MariaDB: back on the last good configuration, with the service away too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from lutra_agent.config import parse
from lutra_agent.lab.mysqld import ScratchMysqld
from lutra_agent.run import running
from lutra_models.wire import GuardEvent, Outcome

from tests.support.agents import TOKEN
from tests.support.disks import fill, tiny_disk
from tests.support.engines import SCRATCH_MYSQLDS, scratch_mysqld
from tests.support.fake_engine import NoShield
from tests.support.fake_service import FakeService, serving
from tests.support.loads import loaded
from tests.support.mysqlds import AT_ONCE, document, subject_of, variables

pytestmark = [pytest.mark.engine, pytest.mark.slow]

GUARD: dict[str, Any] = {"qps": {"limit": 0.5, "hold_s": 3}, "memory": {"enabled": False}, "confirm_windows": 30}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    with serving(FakeService()) as found:
        yield found


@pytest.fixture
def mariadb_of_its_own() -> Iterator[ScratchMysqld]:
    with scratch_mysqld(SCRATCH_MYSQLDS["mariadb"]) as server:
        yield server


def outcomes(service: FakeService) -> list[Outcome]:
    return [o for r in service.reports for o in r.outcomes]


def events(service: FakeService) -> list[GuardEvent]:
    return [e for r in service.reports for e in r.events]


def querying(server: ScratchMysqld) -> Any:
    connection = pymysql.connect(host=server.host, port=server.port, user=server.user, autocommit=True)

    def step() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")

    return step


def test_a_guard_event_with_the_service_away_brings_the_settings_back_and_is_told_later_once(
    own_mysqld: ScratchMysqld, service: FakeService, tmp_path: Path
) -> None:
    before = variables(own_mysqld)
    made = parse(document(own_mysqld, service.url, tmp_path / "state", "reload_only", guard=GUARD))
    with running(made, shield=NoShield()) as loop:
        with loaded(querying(own_mysqld)):
            loop.run(ended=lambda: sum("qps" in r.metrics for r in service.reports) >= 4)
            service.offer("rec_1", {"sort_buffer_size": 524288})
            loop.run(ended=lambda: len(outcomes(service)) == 1)
            assert variables(own_mysqld)["sort_buffer_size"] == "524288"
            service.refuse = 503
        # The load is gone: fewer than half of the queries.
        loop.run(ended=lambda: variables(own_mysqld)["sort_buffer_size"] == before["sort_buffer_size"])
        assert variables(own_mysqld) == before
        service.refuse = None
        loop.run(ended=lambda: len(outcomes(service)) == 2)
        for _ in range(2):
            loop.cycle()
    applied, reverted = outcomes(service)
    assert (applied.state, reverted.state, reverted.code) == ("applied", "reverted", "guardrail")
    [event] = events(service)
    assert (event.guard, event.directive) == ("qps", "rec_1")
    assert event.held_s >= 3


@pytest.mark.parametrize("file_before", [None, "[mariadbd]\nloose_max_connections = 151\n"], ids=["no file", "a file"])
def test_a_disk_that_is_full_while_the_include_file_is_written_undoes_the_change(
    mariadb_of_its_own: ScratchMysqld, tmp_path: Path, file_before: str | None
) -> None:
    server = mariadb_of_its_own
    assert server.include_file is not None
    folder = server.include_file.parent
    first = (folder / "first.sql").read_text()
    # Pages of 4 kB: one for first.sql, one for the include file that was there, and one, or none, to write to.
    with tiny_disk(folder, "8k") as disk:
        (disk / "first.sql").write_text(first)
        disk.chmod(0o755)
        if file_before is not None:
            server.include_file.write_text(file_before)
            fill(disk)
        subject = subject_of(server, tmp_path / "state")
        before, file = subject.kept_settings(), subject.file()
        outcome = subject.do("rec_1", AT_ONCE[server.engine])
        assert (outcome.state, "No space left" in outcome.message) == ("reverted", True)
        assert subject.kept_settings() == before
        assert subject.file() == file == (file_before and file_before.encode())
        subject.engine.close()
