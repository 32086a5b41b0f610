"""Where nothing is worth changing a session says so, asks nobody, and looks again when something has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.live import LOOKED_AT, Live, live

MORE = {"work_mem": 8192}


def settled(made: Live) -> None:
    made.observe()
    made.open()
    answered = made.ask()
    assert (answered["state"], answered["origin"]) == ("unneeded", "nothing")
    assert answered["looked_at"]["sentence"] == LOOKED_AT["sentence"]


def test_the_session_says_so_and_asks_nobody(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        settled(made)
        session = made.session
        assert session["state"] == "settled"
        assert LOOKED_AT["sentence"] in session["message"]
        assert session["current"] is None
        assert made.agent.directive() is None
        for _ in range(5):
            made.window()
        assert made.session["state"] == "settled"
        assert len(made.advisor.asked) == 1


def test_an_operator_may_ask_again(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        settled(made)
        made.advisor.wishes = [MORE]
        assert made.ask()["state"] == "proposed"
        assert made.session["state"] == "running"


@pytest.mark.parametrize("change", ["load", "rate", "settings"])
def test_it_looks_again_when_the_load_or_the_server_changes(tmp_path: Path, change: str) -> None:
    with live(tmp_path) as made:
        made.agent.facts = {"context": {"clients": 8}}
        settled(made)
        made.advisor.wishes = [MORE]
        rate = {}
        if change == "load":
            made.agent.facts = {"context": {"clients": 64}}
        elif change == "rate":
            rate = {"qps": 4500.0}
        else:
            made.agent.apply({"jit": "off"})
        for _ in range(6):
            made.window(**rate)
        made.service.until(f"/v1/sessions/{made.session_id}", lambda s: s["state"] == "running" and s["current"])
        assert len(made.advisor.asked) == 2


def test_a_settled_session_may_be_stopped_and_another_one_opened(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        settled(made)
        assert made.service.code("POST", f"{made.path}/sessions", {"objective": {"metric": "qps", "goal": "maximize"}})
        made.service.take("POST", f"/v1/sessions/{made.session_id}/stop")
        assert made.session["state"] == "stopped"
        made.open()
