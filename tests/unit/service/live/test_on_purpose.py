"""What an earlier session changed was set by Lutra, and by nobody on purpose: the rules go on where they were."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.live import Live, live
from tests.support.waiting import until

pytestmark = pytest.mark.slow

ADVISED = {"work_mem": 8192, "max_wal_size": 4096, "jit": "off"}
PART = ["work_mem", "max_wal_size"]
BUFFERS = {"shared_buffers": 32768}


def in_a_file(made: Live) -> None:
    """Every value stands in the settings file, as it does after a change by an agent."""
    made.agent.settings = {n: replace(s, source="configuration file") for n, s in made.agent.settings.items()}


def evidence(made: Live) -> tuple[list[str], set[str]]:
    """What counts as set on purpose in the newest question, and the settings that rules ask for."""
    known: dict[str, Any] = made.advisor.asked[-1]["evidence"]
    return known["deliberate"], {f["name"] for f in known["findings"] if f["ground"] == "rule"}


def again(made: Live, mode: str) -> None:
    made.service.take("POST", f"/v1/sessions/{made.session_id}/stop")
    asked = len(made.advisor.asked)
    made.open(mode=mode)
    made.ask(waits=False)
    for _ in range(3):
        made.window()
    until(lambda: len(made.advisor.asked) > asked)


@pytest.mark.parametrize("mode", ["reload_only", "restart_in_window"])
def test_a_part_that_was_approved_leaves_the_rest_of_the_rules(tmp_path: Path, mode: str) -> None:
    with live(tmp_path, ADVISED, mode=mode) as made:
        in_a_file(made)
        made.observe()
        made.open(mode=mode)
        first = made.ask()
        assert evidence(made) == ([], {"work_mem", "max_wal_size", "jit", "shared_buffers"})
        part = made.decide(first["id"], "approve", {"settings": PART, "reason": "jit pays for the reports"})
        made.carry_out(part["id"])
        again(made, mode)
        assert evidence(made) == ([], {"jit", "shared_buffers"})


def test_what_was_changed_in_a_maintenance_window_counts_as_well(tmp_path: Path) -> None:
    mode = "restart_in_window"
    with live(tmp_path, {**ADVISED, **BUFFERS}, mode=mode) as made:
        start = datetime.now(UTC) - timedelta(hours=1)
        days = [(start + timedelta(days=n)).strftime("%a").lower() for n in (0, 1)]
        window = {"weekdays": days, "start": start.strftime("%H:%M"), "minutes": 120}
        made.service.take("PUT", f"{made.path}/maintenance-windows", {"windows": [window]})
        in_a_file(made)
        made.observe()
        made.open(mode=mode)
        first = made.ask()
        rows = made.service.take("GET", f"{made.path}/recommendations?state=proposed")["items"]
        (kept,) = (r for r in rows if r["kind"] == "maintenance")
        made.decide(first["id"], "reject", {"reason": "not these"})
        made.decide(kept["id"], "approve")
        made.carry_out(kept["id"])
        again(made, mode)
        deliberate, ruled = evidence(made)
        assert deliberate == []
        assert ruled == {"work_mem", "max_wal_size", "jit"}, "what was rejected is turned down, and no purpose"


def test_what_somebody_set_before_the_first_session_is_on_purpose(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        in_a_file(made)
        made.agent.apply({n: v for n, v in ADVISED.items() if n in PART})
        made.observe()
        made.open()
        made.ask()
        assert evidence(made) == (sorted(PART), set()), "half of what matters: this server is tuned"
