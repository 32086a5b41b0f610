"""A session of whose database nothing is heard says so: nobody waits for what cannot come."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from lutra_service.db.store import UnitOfWork

from tests.support.service.live import Live, live

pytestmark = pytest.mark.slow


def later(made: Live, minutes: float) -> None:
    """All that came from its agent came so much earlier."""

    def earlier(unit: UnitOfWork) -> None:
        database = unit.databases.get(made.agent.database)
        for row in unit.reports.windows(database.id, 100):
            unit.reports.replace(row.id, received_at=row.received_at - timedelta(minutes=minutes))
        if database.last_report_at is not None:
            unit.databases.change(database.id, last_report_at=database.last_report_at - timedelta(minutes=minutes))

    made.service.store.write(earlier)


def test_before_the_first_report_it_says_what_to_start(tmp_path: Path) -> None:
    with live(tmp_path) as made:
        made.open()
        assert made.session["message"].startswith("no agent has reported yet: start `lutra-agent run`")


def test_an_agent_that_is_away_is_told_where_something_waits_for_it(tmp_path: Path) -> None:
    with live(tmp_path, {"work_mem": 8192}) as made:
        made.observe()
        made.open()
        made.decide(made.ask()["id"], "approve")
        later(made, 0.5)
        assert "no report" not in made.session["message"]
        later(made, 1)
        assert "is approved and waits: no report has arrived since 20" in made.session["message"]


def test_it_observes_nothing_while_its_agent_is_away_or_cannot_measure(tmp_path: Path) -> None:
    with live(tmp_path, {"work_mem": 8192}) as made:
        made.observe(1)
        made.open()
        made.ask(waits=False)
        assert "then it proposes" in made.session["message"]
        later(made, 2)
        assert made.session["message"].startswith("observing: no report has arrived since 20")
        made.agent.send(made.agent.report(status={"problems": ["connection refused"]}))
        told = made.session["message"]
        assert told.startswith("observing: its agent has measured nothing since 20")
        assert told.endswith("UTC: connection refused")
        made.window()
        assert made.session["message"].startswith("observing: 2 of 3 windows")
