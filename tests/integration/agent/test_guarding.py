"""Guards on real servers: a change that hurts is taken back with the service away, and told once it is there again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from lutra_agent.config.types import CONFIRM_S
from lutra_agent.runtime.compose import running
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.wire import GuardEvent, Outcome

from tests.support.agent.processes import (
    TOKEN,
    MovedClock,
    agent_process,
    config,
    document,
    guards,
    settings_of,
    write_toml,
)
from tests.support.fakes.engine import NoSignals
from tests.support.fakes.service import FakeService, serving
from tests.support.servers.disks import fill, tiny_disk
from tests.support.servers.loads import loaded
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

UNCONFIRMED = {**guards(), "confirm_windows": 100}
ARMED = {"limit": 1000.0, "hold_s": 2}
"""So many times what it was before, which no load holds: it fires on any machine, and only where it is switched on."""
PAST_CONFIRMATION_S = CONFIRM_S + 1


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    with serving(FakeService()) as found:
        yield found


def outcomes(service: FakeService, identifier: str) -> list[Outcome]:
    return [o for r in service.reports for o in r.outcomes if o.directive == identifier]


def events(service: FakeService) -> list[GuardEvent]:
    return [e for r in service.reports for e in r.events]


def measured(service: FakeService) -> int:
    return sum(r.window is not None for r in service.reports)


def committing(server: ScratchPostgres) -> Any:
    server.sql("CREATE TABLE load (n int)")
    connection = psycopg.connect(server.conninfo(), autocommit=True)
    connection.execute("SET synchronous_commit = off")  # a disk may stand still for as long as a window
    return lambda: connection.execute("INSERT INTO load VALUES (1)")


def test_a_change_under_which_a_guard_fires_is_taken_back_with_the_service_away_and_told_later_once(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    file = own_postgres.data_dir / "postgresql.auto.conf"
    before, text = settings_of(own_postgres), file.read_bytes()
    made = document(own_postgres, service.url, tmp_path / "state", "reload_only", guard=UNCONFIRMED)
    toml = write_toml(tmp_path / "agent.toml", made)
    service.then("rec_1", service.leave, qps=ARMED)
    with loaded(committing(own_postgres), rest_s=0.02), agent_process(toml):
        until(lambda: service.busy)
        service.offer("rec_1", {"work_mem": 8192})
        until(lambda: outcomes(service, "rec_1"))
        until(lambda: file.read_bytes() == text)
        until(lambda: settings_of(own_postgres) == before)
        assert len(outcomes(service, "rec_1")) == 1
        service.refuse = None
        until(lambda: len(outcomes(service, "rec_1")) == 2)
        told = measured(service)
        until(lambda: measured(service) >= told + 2)
    applied, reverted = outcomes(service, "rec_1")
    assert (applied.state, applied.active) == ("applied", {"work_mem": 8192})
    assert applied.confirm_by is not None
    assert (reverted.state, reverted.code, reverted.active) == ("reverted", "guardrail", {"work_mem": 4096})
    [event] = [e for e in events(service) if e.directive is not None]  # it may fire again
    assert (event.guard, event.directive) == ("qps", "rec_1")
    assert event.baseline is not None
    assert event.value < event.bound
    assert event.bound <= 1001 * event.baseline, "neighbours on the host lower it"
    assert event.held_s >= 2


def test_a_change_that_does_no_harm_is_confirmed_and_stays(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    guard = {**guards(errors={"enabled": True}, unreachable={"enabled": True}), "confirm_windows": 2}
    made = config(own_postgres, service.url, tmp_path / "state", "reload_only", guard=guard)
    service.offer("rec_1", {"work_mem": 8192})
    with running(made, signals=NoSignals()) as loop:
        loop.run(ended=lambda: len(outcomes(service, "rec_1")) == 2)
    assert [o.state for o in outcomes(service, "rec_1")] == ["applied", "confirmed"]
    assert own_postgres.sql("SHOW work_mem") == "8MB"


def test_an_agent_that_was_away_past_the_confirmation_time_takes_the_change_back_at_its_start(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    before, clock = settings_of(own_postgres), MovedClock()
    made = config(own_postgres, service.url, tmp_path / "state", "reload_only", guard=UNCONFIRMED)
    service.offer("rec_1", {"work_mem": 8192})
    with running(made, clock, NoSignals()) as loop:
        loop.run(ended=lambda: bool(outcomes(service, "rec_1")))
    assert own_postgres.sql("SHOW work_mem") == "8MB"
    clock.ahead_s = PAST_CONFIRMATION_S
    with running(made, clock, NoSignals()) as loop:
        loop.run(ended=lambda: len(outcomes(service, "rec_1")) == 2)
    assert outcomes(service, "rec_1")[1].code == "not_confirmed"
    until(lambda: settings_of(own_postgres) == before)


def test_a_restart_setting_is_changed_in_its_maintenance_window_and_taken_back_with_a_restart(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path
) -> None:
    before, clock = settings_of(own_postgres), MovedClock()
    made = config(own_postgres, service.url, tmp_path / "state", "restart_in_window", guard=UNCONFIRMED)
    always = {"weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "start": "00:00", "minutes": 1440}
    service.offer("rec_0", {"shared_buffers": 8192}, restart_allowed=True)
    with running(made, clock, NoSignals()) as loop:
        loop.run(ended=lambda: bool(outcomes(service, "rec_0")))
        assert outcomes(service, "rec_0")[0].code == "outside_maintenance_window"
        rules = {"maintenance_windows": [always]}
        service.offer("rec_1", {"shared_buffers": 8192}, restart_allowed=True, rules=rules)
        loop.run(ended=lambda: bool(outcomes(service, "rec_1")))
        assert own_postgres.sql("SHOW shared_buffers") == "64MB"
        clock.ahead_s = PAST_CONFIRMATION_S
        loop.run(ended=lambda: len(outcomes(service, "rec_1")) == 2)
    assert [(o.state, o.code, o.restarted) for o in outcomes(service, "rec_1")] == [
        ("applied", None, True),
        ("reverted", "not_confirmed", True),
    ]
    assert settings_of(own_postgres) == before


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_an_agent_that_starts_on_a_disk_that_takes_nothing_undoes_its_change_all_the_same(
    own_postgres: ScratchPostgres, service: FakeService, tmp_path: Path, how: str
) -> None:
    log, waits = tmp_path / "agent.log", {**UNCONFIRMED, "confirm_s": 3600}
    with tiny_disk(tmp_path / "disk", "1m") as disk:
        made = document(own_postgres, service.url, disk / "state", "reload_only", guard=waits)
        service.offer("rec_1", {"work_mem": 8192})
        with agent_process(write_toml(tmp_path / "agent.toml", made)):
            until(lambda: outcomes(service, "rec_1"))
        if how == "full":
            fill(disk)
        else:
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        made["guard"]["unreachable"] = {"limit": 0.5, "hold_s": 1}
        toml = write_toml(tmp_path / "agent.toml", made)
        with agent_process(toml):
            until(lambda: f"{disk / 'state' / 'spool'} cannot be written" in log.read_text())
            own_postgres.crash()
            until(lambda: "directive rec_1: reverted" in log.read_text())
        assert own_postgres.sql("SHOW work_mem") == "4MB"
        own_postgres.sql("ALTER SYSTEM SET work_mem = '5MB'")
        argv = [sys.executable, "-m", "lutra_agent", "rollback", "--to", "baseline", "--config", str(toml)]
        done = subprocess.run(argv, capture_output=True, text=True)
        assert own_postgres.sql("SHOW work_mem") == "4MB"
        assert done.returncode == 0, done.stderr
        assert "cannot be written" in done.stdout
        assert "Traceback" not in log.read_text() + done.stderr
