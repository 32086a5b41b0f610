"""A reported gain is judged again after a day and after a week, as long as nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from lutra_service.app.databases.figures import reported_and_held
from lutra_service.app.tuning.consequences.follow import follow
from lutra_service.app.tuning.observe import lasting
from lutra_service.db.store import Store

from tests.support.fakes.tasks import Document
from tests.support.service.live import Live, live

pytestmark = pytest.mark.slow

STEP = timedelta(minutes=30)
SWING = (300.0, 700.0, 1400.0, 900.0, 400.0, 1100.0)
NOISE = (1.0, 1.04, 0.97, 1.02, 0.95, 1.01, 0.99)
GAIN = 0.7


class Gained:
    """A change whose gain was told, with the time at which it was made."""

    def __init__(self, made: Live, id_: str, at: datetime) -> None:
        self.made = made
        self.id = id_
        self.at = at

    def served(self, until_h: float, effect: float = GAIN, load: float = 1.0) -> None:
        """Windows until so many hours after the change."""
        served(self.made, self.at + timedelta(hours=until_h), effect, load)

    def look(self, after_h: float) -> Document:
        """The judgement once the gains that are due so many hours after the change were looked at."""
        at = self.at + timedelta(hours=after_h)
        store = self.made.service.store
        lasting.look(Store(store._reader, clock=lambda: at, follow=follow))
        judgement: Document = self.made.look(self.id)["judgement"]
        return judgement

    @property
    def lost(self) -> list[Document]:
        path = "/v1/audit?action=recommendation.gain_lost"
        found: list[Document] = self.made.service.take("GET", path)["items"]
        return found


def served(made: Live, until: datetime, effect: float, load: float = 1.0) -> None:
    """Windows under a load that swings, half an hour apart."""
    i = 0
    while made.agent.clock < until:
        rate = load * SWING[i % len(SWING)]
        made.window(qps=rate, p99_ms=effect * NOISE[i % len(NOISE)] * (4.0 + (rate / 400.0) ** 2))
        made.agent.clock += STEP - timedelta(seconds=10)
        i += 1


@contextmanager
def gained(directory: Path, effect: float = GAIN, until_h: float = 12) -> Iterator[Gained]:
    """A change after a day of windows, and the windows until `until_h` hours after it, by which its effect is told."""
    with live(directory, {"work_mem": 8192}) as made:
        now = made.agent.clock
        made.agent.clock -= timedelta(hours=24)
        served(made, now - STEP, 1.0)
        made.agent.clock = now - timedelta(seconds=100)
        made.open()
        id_: str = made.ask()["id"]
        made.decide(id_, "approve")
        made.carry_out(id_, windows=0)
        one = Gained(made, id_, datetime.fromisoformat(made.look(id_)["applied_at"]))
        one.served(until_h, effect)
        yield one


def test_a_gain_that_holds_is_told_so_after_a_day_and_after_a_week(tmp_path: Path) -> None:
    with gained(tmp_path) as one:
        one.served(25)
        assert one.look(23)["lasting"] == [], "it is not due yet"
        (day,) = one.look(25)["lasting"]
        assert (day["state"], round(day["hours"])) == ("holds", 25), day
        assert day["held"]["low"] < GAIN < day["held"]["high"]
        assert day["since"]["low"] < 1 < day["since"]["high"]
        assert day["sentence"].startswith("holds: p99_ms ")
        assert one.look(26)["lasting"] == [day], "the next look is due later"
        one.made.agent.clock = one.at + timedelta(hours=144)
        one.served(168)
        _, week = one.look(169)["lasting"]
        assert (week["state"], round(week["hours"])) == ("holds", 169)
        figures = one.made.service.store.read(lambda unit: reported_and_held(unit, one.at - STEP))
        assert (figures.reported, figures.holds, figures.share) == (1, 1, 1.0)
        row = one.made.service.store.read(lambda unit: unit.recommendations.get(one.id))
        assert row.measurement is not None
        assert (row.measurement.look_at, row.measurement.kept) == (None, None)
        assert one.lost == []


def test_a_gain_that_is_lost_by_a_quarter_is_told_once_with_an_audit_entry_and_in_the_figures(tmp_path: Path) -> None:
    with gained(tmp_path) as one:
        one.served(25)
        one.look(25)
        one.served(50, GAIN * 1.25)
        day, lost = one.look(50)["lasting"]
        assert (day["state"], lost["state"]) == ("holds", "decayed")
        assert lost["since"]["low"] < 1.25 < lost["since"]["high"]
        assert lost["sentence"].startswith("decayed: p99_ms 2")
        (entry,) = one.lost
        assert (entry["target"], entry["token_name"]) == (one.id, "service")
        assert entry["after"]["sentence"] == lost["sentence"]
        assert len(one.look(60)["lasting"]) == 2
        metrics = one.made.service.ask("GET", "/metrics").text
        assert 'lutra_gains{database="shop",state="decayed"} 1.0' in metrics
        assert 'lutra_gains_held_share{database="shop"} 0.0' in metrics
        assert 'lutra_gain_reported_ratio{database="shop"} 0.7' in metrics


def test_after_a_change_of_other_settings_nothing_is_concluded_of_a_gain(tmp_path: Path) -> None:
    with gained(tmp_path) as one:
        one.made.agent.apply({"jit": "off"})
        one.served(25, GAIN * 1.25)
        (look,) = one.look(25)["lasting"]
        assert (look["state"], look["because"]) == ("unknown", "other settings were changed since")
        assert one.lost == []


def test_an_upgrade_and_a_load_that_was_not_there_before_are_no_loss(tmp_path: Path) -> None:
    with gained(tmp_path) as one:
        one.served(25, GAIN * 1.5, load=9.0)
        (look,) = one.look(25)["lasting"]
        assert (look["state"], look["since"]) == ("unknown", None)
        one.made.agent.facts = {"engine_version": "17.1"}
        one.served(32, GAIN * 1.25)
        assert one.look(32)["lasting"][-1]["state"] == "unknown"
        assert one.lost == []
        row = one.made.service.store.read(lambda unit: unit.recommendations.get(one.id))
        assert row.measurement is not None
        assert row.measurement.look_at is None


def test_a_change_without_a_gain_is_not_judged_again(tmp_path: Path) -> None:
    with gained(tmp_path, effect=1.0) as one:
        assert one.made.look(one.id)["judgement"]["verdict"] == "no_difference_seen"
        assert one.look(30)["lasting"] == []
        assert one.made.service.store.read(lambda unit: reported_and_held(unit, one.at - STEP)).reported == 0
