"""Where nothing is worth changing a session says so, asks nobody, and looks again when something has changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_models.evidence import Evidence, Finding
from lutra_service.app.tuning.observe import circumstances
from lutra_service.app.tuning.observe.circumstances import Circumstances

from tests.support.service.live import LOOKED_AT, Live, live

pytestmark = pytest.mark.slow

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
def test_it_looks_again_when_the_load_or_the_settings_change(tmp_path: Path, change: str) -> None:
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
        assert made.ask()["state"] == "proposed"  # what it looked for by itself, once that is computed
        assert len(made.advisor.asked) == 2


@pytest.mark.parametrize(
    ("facts", "word"),
    [({"engine_version": "17.1"}, "version"), ({"host": {"memory_bytes": 16 << 30, "cores": 4}}, "memory")],
)
def test_on_another_server_it_pauses_and_an_operator_starts_again(
    tmp_path: Path, facts: dict[str, Any], word: str
) -> None:
    with live(tmp_path) as made:
        settled(made)
        made.advisor.wishes = [MORE]
        made.agent.facts = facts
        made.window()
        session = made.session
        assert session["state"] == "paused"
        assert session["message"].startswith(f"server_changed: its {word} was")
        for _ in range(6):
            made.window()
        assert len(made.advisor.asked) == 1
        assert made.service.take("POST", f"/v1/sessions/{made.session_id}/resume")["state"] == "running"


def test_a_settled_session_may_be_stopped_and_another_one_opened(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        settled(made)
        assert made.service.code("POST", f"{made.path}/sessions", {"objective": {"metric": "qps", "goal": "maximize"}})
        made.service.take("POST", f"/v1/sessions/{made.session_id}/stop")
        assert made.session["state"] == "stopped"
        made.open()


def test_a_load_that_comes_and_goes_is_looked_at_once_at_each_level(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        settled(made)
        for qps in (4500.0, 900.0, 4500.0, 900.0):
            for _ in range(4):
                made.window(qps=qps)
            made.service.until(f"/v1/sessions/{made.session_id}", lambda s: s["state"] == "settled")
        assert len(made.advisor.asked) == 2


@pytest.mark.parametrize(
    ("strengths", "alike"),
    [({}, True), ({"wal": 0.5}, True), ({"wal": 0.9}, False), ({"wal": 0.5, "sorts": 0.4}, False), (None, True)],
)
def test_a_symptom_that_came_or_grew_is_another_circumstance_and_one_that_went_is_none(
    strengths: dict[str, float] | None, alike: bool
) -> None:
    before = Circumstances("a", {}, {"qps": 100.0}, {"wal": 0.5})
    assert before.alike(Circumstances("a", {}, {"qps": 140.0}, strengths)) is alike


def looked(made: Live, last_min: float, whole_min: float) -> None:
    """As if it had looked at its symptoms so many minutes ago, and at all that they rest on."""
    ago = {name: timedelta(minutes=m) for name, m in (("symptoms_at", last_min), ("whole_at", whole_min))}
    moments = {name: (datetime.now(UTC) - since).isoformat() for name, since in ago.items()}
    kept = made.service.store.read(lambda unit: unit.sessions.get(made.session_id).settled)
    made.service.store.write(lambda unit: unit.sessions.change(made.session_id, settled={**(kept or {}), **moments}))


@pytest.mark.parametrize(
    ("last", "whole", "shown", "read"),
    [(4, 30, 0.0, []), (6, 30, 0.0, [6]), (6, 30, 0.9, [6, 60]), (6, 61, 0.0, [60]), (6, 61, 0.9, [60])],
)
def test_a_settled_session_reads_what_is_new_and_the_whole_hour_once_or_where_that_shows_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: float, whole: float, shown: float, read: list[int]
) -> None:
    with live(tmp_path) as made:
        settled(made)
        looked(made, last, whole)
        minutes: list[int] = []

        def evidence(*_: Any, **given: Any) -> Evidence:
            minutes.append(round(given["minutes"]))
            findings = (Finding("wal", "fault", shown, "so", tuple(made.agent.settings)),) if shown else ()
            return Evidence("16.4", 1, 1.0, findings)

        monkeypatch.setattr(circumstances, "evidence_of", evidence)
        made.window()
        assert minutes[: len(read)] == read
        asked = 2 if shown else 1
        path = f"/v1/sessions/{made.session_id}"
        made.service.until(path, lambda s: s["state"] == "settled" and len(made.advisor.asked) == asked)
        made.window()
        assert len(made.advisor.asked) == asked
        assert shown or len(minutes) == len(read), "it has just looked"
