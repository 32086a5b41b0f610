"""What was turned down, or rolled back, is remembered with its reason: by the database, also in its next session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.live import Live, live

pytestmark = pytest.mark.slow

MORE = {"work_mem": 8192}
REASON = "reports run at night need that memory"


def turned_down(made: Live) -> list[dict[str, Any]]:
    found = made.service.take("GET", f"/v1/sessions/{made.session_id}/history")
    remembered: list[dict[str, Any]] = found.get("turned_down", [])
    return remembered


def test_what_was_rejected_is_remembered_with_its_reason_and_handed_to_the_model(tmp_path: Path) -> None:
    with live(tmp_path, MORE, {"jit": "off"}) as made:
        made.observe()
        made.open()
        proposed = made.ask()
        rejected = made.decide(proposed["id"], "reject", {"reason": REASON})
        assert (rejected["state"], rejected["reason"]) == ("rejected", REASON)
        made.ask()
        (known,) = made.advisor.asked[-1]["turned_down"]
        assert (known["how"], known["reason"]) == ("rejected", REASON)
        assert known["changes"] == [{"setting": "work_mem", "before": 4096, "after": 8192}]
        assert known["basis"]["version"] == "16.4"
        assert turned_down(made) == [known]


def test_a_reason_need_not_be_given(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.observe()
        made.open()
        assert made.decide(made.ask()["id"], "reject")["reason"] is None
        assert [t["reason"] for t in turned_down(made)] == [""]


@pytest.mark.parametrize("reason", ["x" * 1001, 7, {"a": 1}])
def test_a_reason_is_a_short_text(tmp_path: Path, reason: object) -> None:
    with live(tmp_path, MORE) as made:
        made.observe()
        made.open()
        path = f"/v1/recommendations/{made.ask()['id']}/reject"
        assert made.service.code("POST", path, {"reason": reason})[0] == 422


def test_what_was_left_out_of_an_approval_was_turned_down_too(tmp_path: Path) -> None:
    with live(tmp_path, {**MORE, "jit": "off"}) as made:
        made.observe()
        made.open()
        made.decide(made.ask()["id"], "approve", {"settings": ["jit"], "reason": REASON})
        (known,) = turned_down(made)
        assert (known["how"], [c["setting"] for c in known["changes"]]) == ("left_out", ["work_mem"])
        assert known["reason"] == REASON


def test_a_rollback_counts_and_the_next_session_knows_it(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.observe()
        made.open()
        id_ = made.ask()["id"]
        made.decide(id_, "approve")
        made.carry_out(id_)
        made.decide(id_, "rollback", {"reason": REASON})
        directive = made.agent.directive()
        assert directive is not None
        made.agent.apply(directive["settings"])
        made.agent.send(made.agent.report(outcomes=[made.agent.outcome(directive, "applied")]))
        assert (made.look(id_)["state"], made.look(id_)["reason"]) == ("reverted", REASON)
        made.service.take("POST", f"/v1/sessions/{made.session_id}/stop")
        made.open()
        (known,) = turned_down(made)
        assert (known["how"], known["reason"]) == ("rolled_back", REASON)
        assert known["changes"] == [{"setting": "work_mem", "before": 4096, "after": 8192}]


@pytest.mark.parametrize("by_guard", [False, True])
def test_what_is_taken_back_is_remembered_with_the_faults_from_before_it(tmp_path: Path, by_guard: bool) -> None:
    spilling = {"database.temp_files_per_s": 10.0, "database.temp_bytes_per_s": 4e7}
    with live(tmp_path, MORE) as made:
        made.observe(**spilling)
        made.open()
        id_ = made.ask()["id"]
        made.decide(id_, "approve")
        made.carry_out(id_)
        if by_guard:
            made.revert(id_, {"work_mem": 4096}, "p99: p99_ms is 60 for 30 s, bound 25")
        else:
            made.decide(id_, "rollback")
        (known,) = turned_down(made)
        assert known["how"] == ("reverted" if by_guard else "rolled_back")
        assert known["basis"]["strengths"]["sorts_spill"] > 0.3


@pytest.mark.parametrize(
    ("state", "code", "how"),
    [
        ("refused", "memory_budget_exceeded", "refused"),
        ("failed", "did_not_start", "failed"),
        ("reverted", "did_not_start", "failed"),
        ("refused", "paused", None),
        ("failed", "internal_error", None),
    ],
)
def test_what_its_agent_refused_or_the_server_did_not_take_is_remembered(
    tmp_path: Path, state: str, code: str, how: str | None
) -> None:
    with live(tmp_path, MORE) as made:
        made.observe()
        made.open()
        id_ = made.ask()["id"]
        made.decide(id_, "approve")
        directive = made.agent.directive()
        assert directive is not None
        outcome = made.agent.outcome(directive, state, code=code, message="too much")
        made.agent.send(made.agent.report(outcomes=[outcome]))
        assert made.look(id_)["state"] == state
        assert [t["how"] for t in turned_down(made)] == ([] if how is None else [how])
        made.ask()
        handed = made.advisor.asked[-1].get("turned_down", [])
        assert [t["changes"][0]["after"] for t in handed] == ([] if how is None else [8192])


def test_a_rollback_on_the_host_shows_in_the_session_and_is_remembered(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.observe()
        made.open()
        id_ = made.ask()["id"]
        made.decide(id_, "approve")
        made.carry_out(id_)
        agent = made.agent
        agent.apply({"work_mem": 4096})
        told = {"target": "baseline", "at": agent.clock.isoformat(), "reason": REASON}
        told["settings"] = {"work_mem": {"before": 8192, "after": 4096}}
        agent.facts = {"status": {"mode": "reload_only", "paused": True}}
        agent.send(agent.report(rolled_back=[told]))
        assert (made.look(id_)["state"], made.look(id_)["reason"]) == ("reverted", REASON)
        session = made.session
        assert session["state"] == "paused"
        assert "rolled back on its host" in session["message"]
        assert "work_mem" in session["message"]
        (known,) = turned_down(made)
        assert (known["how"], known["reason"]) == ("rolled_back", REASON)


def test_while_the_agent_is_paused_an_approval_that_waits_says_so(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.observe()
        made.open()
        id_ = made.ask()["id"]
        assert made.look(id_)["waits"] is None
        made.agent.facts = {"status": {"mode": "reload_only", "paused": True}}
        made.agent.send()
        approved = made.decide(id_, "approve")
        assert approved["state"] == "approved"
        assert "paused" in approved["waits"]
        assert "lutra-agent resume" in made.look(id_)["waits"]
        assert "paused" in made.session["message"]
        made.agent.facts = {}
        made.agent.send()
        assert made.look(id_)["waits"] is None
        assert made.session["message"] == ""


def test_a_setting_that_this_session_changed_stays_in_what_it_looks_at(tmp_path: Path) -> None:
    with live(tmp_path, {}, mode="restart_in_window") as made:
        made.observe()
        windows = [{"weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "start": "00:00", "minutes": 1440}]
        made.service.take("PUT", f"{made.path}/maintenance-windows", {"windows": windows})
        made.open(mode="restart_in_window")
        wanted = {"settings": {"max_connections": "200"}, "approve": True}
        id_ = made.service.take("POST", f"{made.path}/recommendations", wanted)["id"]
        made.carry_out(id_)
        made.ask()
        history = made.advisor.asked[-1]
        assert "max_connections" in {k["name"] for k in history["knobs"]}
        assert history["baseline"]["max_connections"] == 100
        assert history["current"]["max_connections"] == 200


def on_purpose(made: Live) -> list[str]:
    found: list[str] = made.service.take("GET", f"/v1/sessions/{made.session_id}/history")["evidence"]["deliberate"]
    return found


def test_what_an_earlier_session_set_is_nobodys_purpose_in_the_next(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.agent.settings["work_mem"] = replace(made.agent.settings["work_mem"], source="configuration file")
        made.observe()
        made.open()
        id_ = made.ask()["id"]
        made.decide(id_, "approve")
        made.carry_out(id_)
        made.service.take("POST", f"/v1/sessions/{made.session_id}/stop")
        made.open()
        assert made.session["baseline"]["work_mem"] == 8192
        assert on_purpose(made) == []
        made.service.take("POST", f"/v1/sessions/{made.session_id}/stop")
        made.agent.apply({"work_mem": 65536})
        made.observe()
        made.open()
        assert on_purpose(made) == ["work_mem"], "by hand, since"
