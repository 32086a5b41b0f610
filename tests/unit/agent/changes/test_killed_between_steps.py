"""A way back survives whatever happens to the agent between any two steps of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.errors import DidNotStart
from lutra_agent.state import provisional
from lutra_agent.state.journal import JOURNAL
from lutra_agent.state.store import State

from tests.support.loops import WATCHED, Bench, again, bench, outcomes, turn


class Killed(BaseException):
    """The agent's process ended here."""


@pytest.fixture
def live(tmp_path: Path) -> Bench:
    """Settled, and with a change that is provisional."""
    made = bench(tmp_path, "reload_only", with_driver=False, guarding=WATCHED)
    turn(made, 6)
    made.offer({"work_mem": 8192}, restart_allowed=False)
    turn(made, 2)
    assert made.engine.settings["work_mem"].value == "8192"
    return made


def killed_at(monkeypatch: pytest.MonkeyPatch, state: State, method: str, name: str) -> None:
    real = getattr(state, method)

    def kill(first: object, *rest: object) -> None:
        if first == name:
            raise Killed
        real(first, *rest)

    monkeypatch.setattr(state, method, kill)


@pytest.mark.parametrize(
    ("method", "name"), [("save", "outcomes"), ("forget", provisional.PROVISIONAL), ("forget", JOURNAL)]
)
def test_an_agent_that_is_killed_while_it_notes_that_it_took_a_change_back_tells_it_later(
    live: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, name: str
) -> None:
    live.engine.p99_ms = 60.0
    killed_at(monkeypatch, live.state, method, name)
    with pytest.raises(Killed):
        turn(live, 6)
    assert live.engine.settings["work_mem"].value == "4096"
    fresh = again(live, tmp_path)
    turn(fresh, 2)
    assert {(o.state, o.code) for o in outcomes(fresh)} == {("reverted", "guardrail")}
    assert provisional.find(fresh.state) is None
    assert fresh.state.load(JOURNAL) is None


def test_a_way_back_is_told_once(live: Bench) -> None:
    live.engine.p99_ms = 60.0
    turn(live, 10)
    assert [o.state for o in outcomes(live)] == ["applied", "reverted"]


def test_a_rollback_that_is_undone_itself_leaves_the_change_under_watch(
    live: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.offer({"work_mem": 4096}, "rec_2", restore=True, rollback=True)
    killed_at(monkeypatch, live.state, "forget", JOURNAL)
    monkeypatch.setattr(live.state, "record_outcome", lambda *more: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        turn(live, 2)
    fresh = again(live, tmp_path)
    turn(fresh)
    assert fresh.engine.settings["work_mem"].value == "8192"
    watched = provisional.find(fresh.state)
    assert watched is not None
    assert watched.directive == "rec_1"


def test_no_directive_is_begun_while_another_ones_way_back_is_barred(
    live: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def barred() -> None:
        raise DidNotStart("no way back yet")

    monkeypatch.setattr(live.engine, "reload", barred)
    live.engine.p99_ms = 60.0
    turn(live, 5)
    assert live.state.load(JOURNAL)["directive"] == "rec_1"
    live.offer({"work_mem": 16384}, "rec_2", restart_allowed=False)
    turn(live, 3)
    assert live.state.load(JOURNAL)["directive"] == "rec_1"
    assert live.state.recorded_outcome("rec_2") is None
    monkeypatch.undo()
    turn(live, 2)
    assert live.engine.settings["work_mem"].value == "4096"


def test_an_error_of_the_agents_own_costs_an_interval_and_is_told(
    live: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(live.engine, "ping", lambda: 1 // 0)
        turn(live)
    assert "an error of the agent's own" in caplog.text
    turn(live)
    assert live.loop.problems == ["an error of the agent's own: integer division or modulo by zero"]
    turn(live, 5)
    assert [o.state for o in outcomes(live)] == ["applied", "confirmed"]


def test_a_clock_that_is_set_back_costs_no_report(live: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    told = len(live.line.reports)
    put = live.reports.put

    def late(*what: object) -> None:
        live.clock.seconds -= 30
        put(*what)  # type: ignore[arg-type]
        live.clock.seconds += 30

    monkeypatch.setattr(live.reports, "put", late)
    turn(live, 2)
    assert len(live.line.reports) == told + 2
    assert all(r.window is None or r.sent_at >= r.window.end for r in live.line.reports)
