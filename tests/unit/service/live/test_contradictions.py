"""A policy that leaves nothing to move pauses a session; it costs no report and no look at the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.service.live import Live, live

pytestmark = pytest.mark.slow

NOTHING_MAY_MOVE = {"policy": {"movable": ["shared_buffers"]}}
WHY = "invalid_configuration: no setting may move"


def contradict(made: Live) -> None:
    """`shared_buffers` needs a restart: the database's windows allow one, and the session's mode allows none."""
    window = {"weekdays": ["mon"], "start": "03:00", "minutes": 60}
    made.service.take("PUT", f"{made.path}/maintenance-windows", {"windows": [window]})
    made.service.take("PATCH", made.path, NOTHING_MAY_MOVE)


def test_while_it_observes(tmp_path: Path) -> None:
    with live(tmp_path, {"work_mem": 8192}, mode="restart_in_window") as made:
        made.observe(1)
        made.open()
        assert made.ask(waits=False)["state"] == "observing"
        contradict(made)
        assert WHY in made.session["message"]
        made.window()
        assert made.session["state"] == "paused"
        assert made.session["message"].startswith(WHY)
        made.service.take("PATCH", made.path, {"policy": {"movable": None}})
        assert made.service.take("POST", f"/v1/sessions/{made.session_id}/resume")["state"] == "running"
        for _ in range(4):
            made.window()
        made.service.until(f"{made.path}/recommendations?state=proposed", lambda found: bool(found["items"]))


def test_once_it_has_settled_and_its_load_is_another_one(tmp_path: Path) -> None:
    with live(tmp_path, mode="restart_in_window") as made:
        made.observe()
        made.open()
        assert made.ask()["state"] == "unneeded"
        contradict(made)
        for _ in range(6):
            made.window(qps=4500.0)
        assert made.session["state"] == "paused"
        assert made.session["message"].startswith(WHY)
