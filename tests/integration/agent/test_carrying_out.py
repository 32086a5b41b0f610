"""Directives on real servers: applied, verified, taken back, also where the server or the agent dies on the way."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.commands.agent_file import parse
from lutra_agent.config.types import Config
from lutra_agent.runtime.compose import running
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.wire import Outcome

from tests.support.agent.processes import TOKEN, agent_process, config, document, guards, settings_of, write_toml
from tests.support.fakes.engine import NoSignals
from tests.support.fakes.service import FakeService, serving
from tests.support.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

TOO_MUCH = 1 << 29
"""4 TB of shared_buffers: PostgreSQL takes the statement and does not start with it."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    with serving(FakeService()) as found:
        yield found


def carried_out(made: Config, service: FakeService, settings: dict[str, Any], **more: Any) -> Outcome:
    identifier = f"rec_{len(service.reports)}"
    service.offer(identifier, settings, **{"restart_allowed": True, **more})
    with running(made, signals=NoSignals()) as loop:
        loop.run(ended=lambda: service.outcome(identifier) is not None)
    outcome: Outcome = service.outcome(identifier)
    return outcome


def test_a_change_and_its_way_back_leave_every_setting_as_before(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    own_postgres.sql("ALTER SYSTEM SET work_mem = '5MB'")
    own_postgres.sql("SELECT pg_reload_conf()")
    made = config(own_postgres, service.url, tmp_path / "state", guard=guards())
    before = until(lambda: own_postgres.sql("SHOW work_mem") == "5MB" and settings_of(own_postgres))
    applied = carried_out(made, service, {"work_mem": 8192, "shared_buffers": 8192, "random_page_cost": 1.5})
    assert (applied.state, applied.restarted) == ("applied", True)
    assert applied.active == {"work_mem": 8192, "shared_buffers": 8192, "random_page_cost": 1.5}
    assert own_postgres.sql("SHOW shared_buffers") == "64MB"
    back = {"work_mem": 5120, "shared_buffers": 16384, "random_page_cost": 4.0}
    assert carried_out(made, service, back, restore=True, rollback=True).state == "applied"
    assert settings_of(own_postgres) == before


def test_a_directive_that_was_carried_out_is_answered_again_and_not_carried_out_again(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    made = config(own_postgres, service.url, tmp_path / "state", guard=guards())
    service.offer("rec_1", {"work_mem": 8192})
    with running(made, signals=NoSignals()) as loop:
        loop.run(ended=lambda: service.outcome("rec_1") is not None)
        own_postgres.sql("ALTER SYSTEM RESET work_mem")
        own_postgres.sql("SELECT pg_reload_conf()")
        until(lambda: own_postgres.sql("SHOW work_mem") == "4MB")
        told = len(service.reports)
        service.offer("rec_1", {"work_mem": 8192})
        loop.run(ended=lambda: any(o.state == "applied" for r in service.reports[told:] for o in r.outcomes))
    assert own_postgres.sql("SHOW work_mem") == "4MB"


def test_sigterm_ends_the_agent_cleanly(own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path) -> None:
    made = document(own_postgres, service.url, tmp_path / "state")
    with agent_process(write_toml(tmp_path / "agent.toml", made)) as process:
        until(lambda: service.reports)
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


def test_rollback_brings_the_baseline_back_with_the_service_away_and_pauses(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    before = settings_of(own_postgres)
    made = document(own_postgres, service.url, tmp_path / "state", guard=guards())
    carried_out(parse(made), service, {"shared_buffers": 8192})
    made["service"]["url"] = "http://127.0.0.1:1"
    file = write_toml(tmp_path / "agent.toml", made)
    said = _command("rollback", "--to", "baseline", "--config", str(file))
    assert "shared_buffers" in said
    assert settings_of(own_postgres) == before
    assert (tmp_path / "state" / "paused").exists()
    _command("resume", "--config", str(file))
    assert not (tmp_path / "state" / "paused").exists()
    with running(config(own_postgres, service.url, tmp_path / "state", guard=guards()), signals=NoSignals()) as loop:
        loop.cycle()
        assert loop.sent(PATIENCE_S)
    told = [o for r in service.reports for o in r.outcomes]
    assert [(o.state, o.message) for o in told] == [("applied", ""), ("reverted", "rolled back on its host")]


def test_rollback_starts_a_server_whose_settings_file_is_broken(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    before = settings_of(own_postgres)
    file = write_toml(tmp_path / "agent.toml", document(own_postgres, service.url, tmp_path / "state"))
    with running(config(own_postgres, service.url, tmp_path / "state"), signals=NoSignals()) as loop:
        loop.cycle()
    own_postgres.sql(f"ALTER SYSTEM SET shared_buffers = {TOO_MUCH}")
    own_postgres.stop()
    assert "down" in _command("rollback", "--config", str(file))
    assert settings_of(own_postgres) == before


def _command(*arguments: str) -> str:
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "lutra_agent", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
