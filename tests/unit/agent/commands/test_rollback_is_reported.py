"""A rollback on the host reaches the service with the next report, its reason and its settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.commands import rollback
from lutra_agent.state.snapshot import BASELINE
from lutra_agent.state.unreported import HostRollbacks

from tests.support.agent.loops import WATCHED, Bench, bench, outcomes, turn

REASON = "the nightly reports were slow"


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = bench(tmp_path, "reload_only", with_driver=False, guarding=WATCHED)
    monkeypatch.setattr(rollback, "local_database", lambda config, clock: made.database)
    turn(made, 6)
    return made


def roll_back(made: Bench, reason: str = "") -> list[str]:
    return list(rollback.roll_back(made.database.config, BASELINE, restart=False, reason=reason))


def test_also_of_a_change_that_was_confirmed_long_ago(live: Bench) -> None:
    live.offer({"work_mem": 8192}, "rec_1", restart_allowed=False)
    turn(live, 60)
    assert live.database.changes.load().watched is None
    roll_back(live, REASON)
    assert live.engine.settings["work_mem"].value == "4096"
    turn(live, 2)
    (told,) = (r for report in live.line.reports for r in report.rolled_back)
    assert (told.target, told.reason) == ("baseline", REASON)
    assert {n: (s.before, s.after) for n, s in told.settings.items()} == {"work_mem": (8192, 4096)}
    turn(live, 2)
    assert HostRollbacks(live.state).unreported() == []


def test_and_of_one_that_was_still_watched_beside_its_outcome(live: Bench) -> None:
    live.offer({"work_mem": 8192}, "rec_1", restart_allowed=False)
    turn(live, 3)
    roll_back(live)
    turn(live, 2)
    assert [o.state for o in outcomes(live)][-1] == "reverted"
    assert [r.reason for report in live.line.reports for r in report.rolled_back] == [""]


def test_one_that_is_made_while_a_report_is_written_waits_for_the_next(live: Bench) -> None:
    live.offer({"work_mem": 8192}, "rec_1", restart_allowed=False)
    turn(live, 3)
    roll_back(live, "one")
    kept = HostRollbacks(live.state)
    reported = kept.unreported()
    kept.add(reported[0].model_copy(update={"reason": "two"}))
    kept.clear(reported)
    assert [r.reason for r in kept.unreported()] == ["two"]


def test_one_that_changes_nothing_is_not_reported(live: Bench) -> None:
    live.offer({"work_mem": 8192}, "rec_1", restart_allowed=False)
    turn(live, 3)
    roll_back(live, "one")
    assert "nothing differs" in roll_back(live, "two")
    assert [r.reason for r in HostRollbacks(live.state).unreported()] == ["one"]
