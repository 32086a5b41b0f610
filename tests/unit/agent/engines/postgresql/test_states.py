"""What changes seldom is kept, what the account may not see is not asked for, and a disk tells its room."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.telemetry import collect
from lutra_agent.engines.postgresql.telemetry.collect import RIGHTS_S, Collect, Kept
from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector
from lutra_agent.engines.postgresql.telemetry.telemetry import log_room

from tests.support.fakes.clock import START

SELDOM = Collector("rare", "view", {12: "SELECT 1 AS n"}, frozenset({"n"}), right="allowed()", every_s=60.0)


class Asked:
    """A connection that writes down what it is asked."""

    def __init__(self, allowed: bool) -> None:
        self.allowed = allowed
        self.rights = self.rows = 0

    def row(self, _: str) -> tuple[Any, ...]:
        self.rights += 1
        return (self.allowed,)

    def named_row(self, _: str) -> tuple[list[str], tuple[Any, ...]]:
        self.rows += 1
        return ["n"], (self.rows,)


@pytest.fixture(autouse=True)
def one_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "EVERY", (SELDOM,))


def look(asked: Asked, kept: Kept, now_s: float, started: str = "a") -> Reading | None:
    sample = Collect(cast(Connection, asked), 15, kept).sample(START, now_s, started)
    assert sample.problems == ()
    return sample.readings.get("rare")


def test_what_changes_seldom_is_read_again_after_its_time_and_after_a_restart() -> None:
    asked, kept = Asked(True), Kept()
    seen = [look(asked, kept, now_s) for now_s in (0.0, 59.0, 60.0)]
    assert [r and r.gauges["n"] for r in (*seen, look(asked, kept, 61.0, "b"))] == [1.0, 1.0, 2.0, 3.0]


def test_without_the_right_nothing_is_asked_until_the_right_may_have_come() -> None:
    asked, kept = Asked(False), Kept()
    assert [look(asked, kept, now_s) for now_s in (0.0, 10.0)] == [None, None]
    assert (asked.rights, asked.rows) == (1, 0)
    asked.allowed = True
    assert look(asked, kept, RIGHTS_S) is not None


def test_the_log_s_room_is_that_of_its_own_folder_or_else_of_the_data_s(tmp_path: Path) -> None:
    beside = log_room(tmp_path)
    (tmp_path / "pg_wal").mkdir()
    own = log_room(tmp_path)
    assert beside is not None
    assert own is not None
    assert own.gauges["log_bytes"] == beside.gauges["log_bytes"] >= own.gauges["log_free_bytes"] >= 0
    assert log_room(tmp_path / "nowhere") is None
