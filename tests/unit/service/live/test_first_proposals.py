"""What was observed before a session is its baseline: the first proposal is a real one, and nobody approves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from lutra_models.evidence import Evidence
from lutra_models.knobs import Value
from lutra_service.app.databases import symptoms
from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.tuning.record import histories
from lutra_service.db.store import UnitOfWork

from tests.support.service.live import live

pytestmark = pytest.mark.slow

MORE = {"work_mem": 8192}


def test_windows_from_before_the_session_are_its_baseline(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.observe(5)
        made.open()
        proposed = made.ask()
        assert [c["setting"] for c in proposed["changes"]] == ["work_mem"]
        (history,) = made.advisor.asked
        assert [o["metrics"]["p99_ms"] for o in history["observations"]] == [12.0] * 5


def test_windows_of_other_settings_of_another_load_or_of_long_ago_are_not(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.agent.clock -= timedelta(days=3)
        made.observe(3, p99_ms=1.0)
        made.agent.clock += timedelta(days=3)
        made.agent.apply({"jit": "off"})
        made.observe(3, p99_ms=2.0)
        made.agent.apply({"jit": "on"})
        made.agent.facts = {"context": {"clients": 64}}
        made.observe(3, p99_ms=3.0)
        made.agent.facts = {"context": {"clients": 8}}
        made.observe(3, p99_ms=4.0)
        made.open()
        made.ask()
        read = [o["metrics"]["p99_ms"] for o in made.advisor.asked[-1]["observations"]]
        assert read == [4.0] * 3


def test_no_symptom_is_computed_only_to_count_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with live(tmp_path, MORE) as made:
        made.observe(1)
        made.open()
        asked = made.ask(waits=False)
        computed: list[str] = []

        def counted(unit: UnitOfWork, at: ServerContext, began: Mapping[str, Value] | None) -> Evidence:
            computed.append(at.database.id)
            return symptoms.evidence_of(unit, at, began)

        monkeypatch.setattr(histories, "evidence_of", counted)
        made.window()
        assert made.session["message"].startswith("observing: 2 of 3 windows")
        assert computed == []
        made.window()
        assert len(computed) == 1
        made.service.until(f"/v1/recommendations/{asked['id']}", lambda r: r["state"] == "proposed")


def test_too_little_was_observed_so_the_session_observes_and_then_proposes(tmp_path: Path) -> None:
    with live(tmp_path, MORE) as made:
        made.observe(1)
        made.open()
        waiting = made.ask(waits=False)
        assert waiting["state"] == "observing"
        assert made.service.take("GET", f"{made.path}/recommendations?state=proposed")["items"] == []
        message = made.session["message"]
        assert message.startswith("observing: 1 of 3 windows")
        assert "about 18 s more" in message
        made.window()
        assert made.session["message"].startswith("observing: 2 of 3 windows")
        made.window()
        path = f"/v1/recommendations/{waiting['id']}"
        proposed = made.service.until(path, lambda r: r["state"] == "proposed")
        assert [c["setting"] for c in proposed["changes"]] == ["work_mem"]
        assert made.session["message"] == ""


@pytest.mark.parametrize(("source", "watched"), [("activity", True), ("log", False)])
def test_a_session_whose_p99_comes_from_another_source_now_says_so(tmp_path: Path, source: str, watched: bool) -> None:
    with live(tmp_path, MORE) as made:
        made.observe(1)
        made.open()
        made.ask(waits=False)
        upgraded = {"p99_source": source, "p99_of": "statement"}
        for _ in range(4):
            made.agent.send(made.agent.report(**made.agent.window(p99_ms=12.0, qps=900.0) | upgraded))
        message = made.session["message"]
        assert message.startswith("observing: 5 of 6 windows under the active settings, 4 of them without p99")
        assert "uses p99 from driver (of a transaction)" in message
        assert f"the windows have p99 from {source} (of a statement)" in message
        assert "stop the session and open a new one" in message
        assert ("watch_transactions = false" in message) == watched
        assert "check" not in message
        made.agent.send(made.agent.report(**made.agent.window(p99_ms=12.0, qps=900.0) | upgraded))
        made.service.until(f"{made.path}/recommendations?state=proposed", lambda r: len(r["items"]) == 1)
        told = made.advisor.asked[-1]["evidence"]["unread"]
        assert told.startswith("p99_ms is read in 1 of the newest 6 windows: it uses p99 from driver")


def test_measuring_again_asks_nobody(tmp_path: Path) -> None:
    with live(tmp_path, {}, MORE) as made:
        made.observe()
        made.open()
        again = made.ask()
        assert (again["state"], again["changes"], again["decided_by"]) == ("applied", [], "automatic")


@pytest.mark.parametrize(("mode", "kept"), [("reload_only", True), ("lab", False)])
def test_the_baseline_of_a_live_session_is_every_setting_as_evidence_may_ask_for_any(
    tmp_path: Path, mode: str, kept: bool
) -> None:
    with live(tmp_path, mode=mode) as made:
        made.observe()
        made.open(mode=mode)
        baseline = made.session["baseline"]
        assert baseline["work_mem"] == 4096
        assert ("max_connections" in baseline, "fsync" in baseline) == (kept, kept)
