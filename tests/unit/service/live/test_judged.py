"""A change on a live database is judged against what was before it at like load, and a difference is told or not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.support.live import Live, live

MORE = {"work_mem": 8192}
SWING = (300.0, 700.0, 1400.0, 900.0, 400.0, 1100.0)
NOISE = (1.0, 1.04, 0.97, 1.02, 0.95, 1.01, 0.99)


def served(made: Live, windows: int, effect: float = 1.0, first: int = 0) -> None:
    """Windows under a load that swings, whose p99 grows with it."""
    for i in range(first, first + windows):
        rate = SWING[i % len(SWING)]
        made.window(qps=rate, p99_ms=effect * NOISE[i % len(NOISE)] * (4.0 + (rate / 400.0) ** 2))


def changed(made: Live, effect: float, windows: int = 13) -> str:
    made.agent.clock -= timedelta(seconds=400)
    served(made, 40)
    made.observe(4, p99_ms=9.1)
    made.open()
    id_: str = made.ask()["id"]
    made.decide(id_, "approve")
    made.carry_out(id_, windows=0)
    served(made, windows, effect, first=40)
    return id_


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
