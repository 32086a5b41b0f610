"""A change on a live database is judged against what was before it at like load, and a difference is told or not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.fakes.tasks import Document
from tests.support.service.live import Live, live

pytestmark = pytest.mark.slow

MORE = {"work_mem": 8192}
SWING = (300.0, 700.0, 1400.0, 900.0, 400.0, 1100.0)
NOISE = (1.0, 1.04, 0.97, 1.02, 0.95, 1.01, 0.99)


def served(made: Live, windows: int, effect: float = 1.0, first: int = 0) -> None:
    """Windows under a load that swings, whose p99 grows with it."""
    for i in range(first, first + windows):
        rate = SWING[i % len(SWING)]
        made.window(qps=rate, p99_ms=effect * NOISE[i % len(NOISE)] * (4.0 + (rate / 400.0) ** 2))


def changed(made: Live, effect: float, windows: int = 13, ago_s: float = 400) -> str:
    made.agent.clock -= timedelta(seconds=ago_s)
    served(made, 40)
    made.observe(4, p99_ms=9.1)
    made.open()
    return applied(made, effect, windows)


def applied(made: Live, effect: float, windows: int = 13) -> str:
    """What is proposed next, approved, and measured for so long."""
    id_: str = made.ask()["id"]
    made.decide(id_, "approve")
    made.carry_out(id_, windows=0)
    served(made, windows, effect, first=40)
    return id_


def compared(made: Live) -> list[Document]:
    """What the worker was told of changes when it was asked last."""
    told: list[Document] = made.advisor.asked[-1]["evidence"]["compared"]
    return told


def test_a_loss_is_answered_by_itself_with_what_was_compared(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        id_ = changed(made, 1.5)
        judgement = made.look(id_)["judgement"]
        assert judgement["verdict"] == "worse", judgement
        assert judgement["follows"].endswith(f"POST /v1/recommendations/{id_}/rollback undoes it at once.")
        asked = made.service.until("/v1/sessions/" + made.session_id, lambda s: s["state"] == "settled")
        assert "proposes to undo it" in asked["message"]
        (told,) = compared(made)
        assert (told["verdict"], told["changes"]) == ("worse", [{"setting": "work_mem", "before": 4096, "after": 8192}])
        assert told["sentence"].startswith("p99_ms 5")
        assert made.session["incumbent"] is None
        asked_until_now = len(made.advisor.asked)
        for _ in range(3):
            made.window(qps=900.0, p99_ms=13.6)
        assert len(made.advisor.asked) == asked_until_now, "it is asked once"


def test_a_settled_session_wakes_where_its_last_change_turns_out_to_be_a_loss(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        changed(made, 1.5, windows=4)
        assert made.ask()["state"] == "unneeded"
        made.advisor.wishes = [{"work_mem": 4096}]
        served(made, 8, 1.5, first=44)
        path = f"{made.path}/recommendations?state=proposed"
        (back,) = made.service.until(path, lambda found: bool(found["items"]))["items"]
        assert back["configuration"]["work_mem"] == 4096
        assert compared(made)[0]["verdict"] == "worse"


def test_of_what_costs_something_and_gains_nothing_that_can_be_seen_the_way_back_is_told(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.advisor.costs = "it takes memory"
        id_ = changed(made, 1.0)
        told = made.look(id_)["judgement"]
        assert told["verdict"] == "no_difference_seen"
        follows = f"The cost: it takes memory. POST /v1/recommendations/{id_}/rollback undoes it."
        assert told["follows"] == follows
        assert follows in made.session["message"]
    (tmp_path / "free").mkdir()
    with live(tmp_path / "free", MORE) as made:
        assert made.look(changed(made, 1.0))["judgement"]["follows"] == ""


def test_all_changes_of_a_session_are_judged_together_and_only_the_last_by_itself(tmp_path: Path) -> None:
    with live(tmp_path, MORE, {"work_mem": 16384}) as made:
        first = changed(made, 0.8, ago_s=700)
        second = applied(made, 0.6)
        assert made.look(first)["judgement"]["together"] is None
        judgement = made.look(second)["judgement"]
        assert judgement["low"] < 0.75 < judgement["high"], judgement
        assert judgement["together"]["low"] < 0.6 < judgement["together"]["high"]
        message = made.session["message"]
        assert first not in message
        assert f"All changes of this session together: {judgement['together']['sentence']}." in message
        assert made.session["incumbent"] == second
        made.ask()
        own, both = compared(made)
        assert own["changes"] == [{"setting": "work_mem", "before": 8192, "after": 16384}]
        assert both["changes"] == [{"setting": "work_mem", "before": 4096, "after": 16384}]


def test_a_change_is_still_judged_after_its_session_ended(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        id_ = changed(made, 1.5, windows=4)
        made.service.take("POST", f"/v1/sessions/{made.session_id}/stop")
        before = made.look(id_)["judgement"]["after"]
        served(made, 10, 1.5, first=44)
        judgement = made.look(id_)["judgement"]
        assert (before < 4, judgement["after"], judgement["verdict"]) == (True, 12, "worse")
        assert judgement["sentence"] in made.session["message"]
        assert len(made.advisor.asked) == 1


@pytest.mark.parametrize("by_whom", ["an operator", "a session that was stopped"])
def test_a_change_is_judged_by_reports_that_leave_out_the_settings(tmp_path: Path, by_whom: str) -> None:
    """As agents do: such reports are taken together, where nothing follows from them."""
    with live(tmp_path, MORE) as made:
        made.agent.brief = True
        if by_whom == "an operator":
            made.agent.clock -= timedelta(seconds=800)
            served(made, 40)
            wish = {"settings": {"work_mem": "8MB"}, "approve": True}
            id_ = made.service.take("POST", f"{made.path}/recommendations", wish)["id"]
            made.carry_out(id_, windows=0)
            served(made, 14, 1.5, first=40)
        else:
            id_ = changed(made, 1.5, windows=4)
            made.service.take("POST", f"/v1/sessions/{made.session_id}/stop")
            served(made, 10, 1.5, first=44)
        assert made.look(id_)["judgement"]["verdict"] == "worse"


def test_a_gain_is_told_with_its_interval_at_like_load_and_in_the_sessions_words(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        id_ = changed(made, 0.7)
        judgement = made.look(id_)["judgement"]
        assert judgement["verdict"] == "better", judgement
        assert judgement["after"] == 12
        assert judgement["low"] < 0.7 < judgement["high"]
        assert judgement["sentence"].startswith("p99_ms 30 % lower, better (90 % interval: ")
        assert judgement["sentence"] in made.session["message"]


def test_where_only_the_load_is_another_no_difference_is_seen(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        id_ = changed(made, 1.0)
        told = made.look(id_)["judgement"]
        assert told["verdict"] == "no_difference_seen"
        assert told["low"] < 1 < told["high"]
        assert "no difference seen in p99_ms" in made.session["message"]


def test_at_a_load_that_was_never_seen_before_nothing_is_told(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        id_ = changed(made, 1.0, windows=0)
        for _ in range(8):
            made.window(qps=9000.0, p99_ms=80.0)
        told = made.look(id_)["judgement"]
        assert (told["verdict"], told["ratio"]) == ("not_enough_at_like_load", None)
        assert told["left_out"] >= 7


def test_what_changed_beside_it_is_not_taken_for_its_effect(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        id_ = changed(made, 1.0, windows=1)
        made.agent.apply({"jit": "off"})
        served(made, 8, 0.5)
        assert made.look(id_)["judgement"] is None


def test_windows_on_a_busy_host_are_marked_the_same_on_every_page(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        quiet = {"host.cpu_user_s_per_s": 1.0, "host.cpu_steal_s_per_s": 0.0}
        for i in range(8):
            made.window(**{**quiet, "host.cpu_steal_s_per_s": 1.0 if i == 5 else 0.0})
        listed = made.service.take("GET", f"{made.path}/windows")["items"]
        assert [w["busy"] for w in listed] == [0, 0, 0.5, 0, 0, 0, 0, 0]
        page = f"{made.path}/windows?limit=1&after={listed[1]['id']}&metric=qps"
        (again,) = made.service.take("GET", page)["items"]
        assert (again["busy"], list(again["metrics"])) == (0.5, ["qps"])
