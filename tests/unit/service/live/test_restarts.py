"""What needs a restart is gathered into one proposal for the maintenance window, and holds nothing else up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_service.app.tuning.result import expiry

from tests.support.service.hosted import happened
from tests.support.service.live import Live, live

pytestmark = pytest.mark.slow

BUFFERS, WORKERS, MORE = {"shared_buffers": 32768}, {"autovacuum_max_workers": 5}, {"work_mem": 8192}


def windows(made: Live, *, now: bool) -> None:
    """Maintenance windows that are open now, or begin in three hours."""
    start = datetime.now(UTC) + timedelta(hours=-1 if now else 3)
    days = [(start + timedelta(days=n)).strftime("%a").lower() for n in (0, 1)]
    window = {"weekdays": days, "start": start.strftime("%H:%M"), "minutes": 120}
    made.service.take("PUT", f"{made.path}/maintenance-windows", {"windows": [window]})


def settings(recommendation: dict[str, Any]) -> list[str]:
    return sorted(c["setting"] for c in recommendation["changes"])


def maintenance(made: Live, state: str) -> list[dict[str, Any]]:
    found = made.service.take("GET", f"{made.path}/recommendations?state={state}")["items"]
    return [r for r in found if r["kind"] == "maintenance"]


def test_the_reload_part_is_proposed_now_and_the_rest_by_itself(tmp_path: Path) -> None:
    with live(tmp_path, {**MORE, **BUFFERS}, {"jit": "off", **WORKERS}, mode="restart_in_window") as made:
        windows(made, now=False)
        made.observe()
        made.open(mode="restart_in_window")
        first = made.ask()
        assert (settings(first), first["restart_needed"]) == (["work_mem"], False)
        (part,) = maintenance(made, "proposed")
        assert (settings(part), part["parent"]) == (["shared_buffers"], first["id"])
        made.decide(first["id"], "approve")
        made.carry_out(first["id"])
        second = made.ask()
        assert settings(second) == ["jit"]
        (both,) = maintenance(made, "proposed")
        assert settings(both) == ["autovacuum_max_workers", "shared_buffers"]
        assert made.look(part["id"])["error"] == f"gathered into {both['id']}"
        assert made.session["for_maintenance_window"] == both["id"]


def test_an_approved_one_waits_for_its_window_and_holds_nothing_up(tmp_path: Path) -> None:
    with live(tmp_path, BUFFERS, MORE, mode="restart_in_window") as made:
        windows(made, now=False)
        made.observe()
        made.open(mode="restart_in_window")
        part = made.ask()
        assert (part["kind"], settings(part), part["configuration"]) == ("maintenance", ["shared_buffers"], BUFFERS)
        approved = made.decide(part["id"], "approve")
        assert "the next maintenance window begins at" in approved["waits"]
        assert made.agent.directive() is None
        other = made.ask()
        assert settings(other) == ["work_mem"]
        made.decide(other["id"], "approve")
        given = made.agent.directive()
        assert given is not None
        windows(made, now=True)
        made.agent.apply(given["settings"])
        made.agent.send(made.agent.report(outcomes=[made.agent.outcome(given, "applied")]))
        assert made.agent.directive() is None
        assert made.look(part["id"])["waits"] == "another change is still being measured"
        for _ in range(4):
            made.window()
        assert made.look(other["id"])["state"] == "confirmed"
        directive = made.agent.directive()
        assert directive is not None
        assert (directive["id"], directive["settings"]) == (part["id"], BUFFERS)


def test_what_is_active_already_is_measured_while_another_one_waits_for_its_window(tmp_path: Path) -> None:
    with live(tmp_path, BUFFERS, {}, mode="restart_in_window") as made:
        windows(made, now=False)
        made.observe()
        made.open(mode="restart_in_window")
        made.decide(made.ask()["id"], "approve")
        again = made.ask()
        assert again["changes"] == []
        made.service.until(f"/v1/recommendations/{again['id']}", lambda r: r["state"] == "applied")


def test_what_already_waits_is_not_proposed_again(tmp_path: Path) -> None:
    with live(tmp_path, BUFFERS, BUFFERS, mode="restart_in_window") as made:
        windows(made, now=False)
        made.observe()
        made.open(mode="restart_in_window")
        part = made.ask()
        again = made.ask()
        assert again["state"] == "unneeded"
        assert made.session["state"] == "settled"
        assert f"{part['id']} waits, for a maintenance window" in made.session["message"]
        assert [r["id"] for r in maintenance(made, "proposed")] == [part["id"]]


def test_a_session_that_approves_by_itself_lets_it_wait_for_its_window(tmp_path: Path) -> None:
    with live(tmp_path, BUFFERS, mode="restart_in_window") as made:
        windows(made, now=False)
        made.observe()
        made.open(mode="restart_in_window", approval="automatic")
        path = f"{made.path}/recommendations?state=approved"
        (part,) = made.service.until(path, lambda found: bool(found["items"]))["items"]
        assert (part["kind"], part["decided_by"]) == ("maintenance", "automatic")


def waiting(made: Live) -> dict[str, Any]:
    """A settled session whose change of `shared_buffers` is approved and waits for its window."""
    windows(made, now=False)
    made.observe()
    made.open(mode="restart_in_window")
    part = made.ask()
    made.decide(part["id"], "approve")
    assert made.ask()["state"] == "unneeded"
    assert f"{part['id']} waits" in made.session["message"]
    return part


def test_a_settled_session_looks_again_once_its_agent_has_refused_what_waited(tmp_path: Path) -> None:
    with live(tmp_path, BUFFERS, BUFFERS, mode="restart_in_window") as made:
        part = waiting(made)
        windows(made, now=True)
        directive = made.agent.directive()
        assert directive is not None
        made.advisor.wishes = [MORE]
        refused = made.agent.outcome(directive, "refused", code="memory_budget_exceeded", message="too much")
        made.agent.send(made.agent.report(outcomes=[refused]))
        assert made.look(part["id"])["state"] == "refused"
        made.service.until(f"/v1/sessions/{made.session_id}", lambda s: s["state"] == "running" and s["current"])
        assert "waits" not in made.session["message"]


def test_a_settled_session_looks_again_once_what_waited_has_expired(tmp_path: Path) -> None:
    with live(tmp_path, BUFFERS, BUFFERS, mode="restart_in_window") as made:
        part = waiting(made)
        made.advisor.wishes = [MORE]
        past = datetime.now(UTC) - timedelta(minutes=1)
        happened(made.service, part["id"], expires_at=past)
        made.service.store.write(lambda unit: expiry.end_overdue(unit, part["id"]))
        assert made.look(part["id"])["state"] == "expired"
        made.service.until(f"/v1/sessions/{made.session_id}", lambda s: s["state"] == "running" and s["current"])


def test_what_waited_and_was_rejected_stays_turned_down_and_waits_no_longer(tmp_path: Path) -> None:
    with live(tmp_path, BUFFERS, BUFFERS, mode="restart_in_window") as made:
        part = waiting(made)
        made.decide(part["id"], "reject")
        assert "waits" not in made.session["message"]
        made.window()
        assert made.session["state"] == "settled"
        assert len(made.advisor.asked) == 2


def test_on_another_server_what_waits_for_its_window_is_withdrawn(tmp_path: Path) -> None:
    with live(tmp_path, BUFFERS, mode="restart_in_window") as made:
        part = waiting(made)
        made.agent.facts = {"engine_version": "17.1"}
        made.window()
        assert made.session["state"] == "paused"
        ended = made.look(part["id"])
        assert (ended["state"], ended["error"].split(":")[0]) == ("rejected", "server_changed")


def test_an_operators_own_change_that_waited_undoes_nothing_that_was_changed_meanwhile(tmp_path: Path) -> None:
    with live(tmp_path, MORE, mode="restart_in_window") as made:
        windows(made, now=False)
        made.observe()
        made.open(mode="restart_in_window")
        wish = {"settings": {"max_connections": 120}, "approve": True}
        own = made.service.take("POST", f"{made.path}/recommendations", wish)
        other = made.ask()
        made.decide(other["id"], "approve")
        given = made.agent.directive()
        assert given is not None
        windows(made, now=True)
        made.agent.apply(given["settings"])
        confirm_by = (made.agent.clock + timedelta(minutes=15)).isoformat()
        applied = made.agent.outcome(given, "applied", confirm_by=confirm_by)
        made.agent.send(made.agent.report(outcomes=[applied]))
        assert made.agent.directive() is None
        assert made.look(own["id"])["waits"] == "another change is still being measured"
        for _ in range(4):
            made.window()
        made.agent.send(made.agent.report(outcomes=[made.agent.outcome(given, "confirmed")]))
        directive = made.agent.directive()
        assert directive is not None
        assert (directive["id"], directive["settings"]) == (own["id"], {"max_connections": 120})


def test_a_part_of_what_waits_undoes_nothing_that_was_changed_meanwhile(tmp_path: Path) -> None:
    with live(tmp_path, {**BUFFERS, **WORKERS}, MORE, mode="restart_in_window") as made:
        windows(made, now=False)
        made.observe()
        made.open(mode="restart_in_window")
        part = made.decide(made.ask()["id"], "approve", {"settings": ["shared_buffers"]})
        other = made.ask()
        made.decide(other["id"], "approve")
        made.carry_out(other["id"])
        windows(made, now=True)
        directive = made.agent.directive()
        assert directive is not None
        assert (directive["id"], directive["settings"]) == (part["id"], BUFFERS)
