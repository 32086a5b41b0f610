"""The loop's parts by themselves: what is reported when, what becomes of a directive, and what a look sees."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from lutra_agent.errors import DriverFailed
from lutra_agent.reporting.content import Content
from lutra_agent.reporting.service_link import News
from lutra_agent.runtime.directives import Directives
from lutra_agent.runtime.lab import Lab
from lutra_agent.runtime.observer import Observer
from lutra_agent.runtime.reporter import Reporter
from lutra_agent.runtime.windows import Windows
from lutra_models.maintenance import WEEKDAYS, MaintenanceWindow
from lutra_models.wire import Directive, Rules

from tests.support.agent.loops import Bench, bench
from tests.support.fakes.engine import NoSignals


@dataclass
class Silent:
    """A service that says `news` and nothing else."""

    news: News = field(default_factory=News)
    problems: list[str] = field(default_factory=list)

    def send(self) -> None: ...

    def wait(self, seconds: float, ask: bool) -> News:
        return self.news

    def sent(self, within_s: float) -> bool:
        return True


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    return bench(tmp_path, "lab", with_driver=True)


@pytest.fixture
def reporter(made: Bench) -> Reporter:
    return Reporter(made.database, made.reports, Silent(), None)


def windows(made: Bench) -> Windows:
    return Windows(made.measure, made.database.monitor, made.clock, made.database.config.agent)


def directive(made: Bench, **more: object) -> Directive:
    fields = {"id": "rec_1", "recommendation": "rec_1", "settings": {"work_mem": 8192}, "restart_allowed": True, **more}
    return Directive.model_validate({**fields, "expires_at": made.clock.now() + timedelta(hours=1)})


def test_a_report_is_due_an_interval_after_the_begin_of_the_cycle_that_stored_one(
    made: Bench, reporter: Reporter
) -> None:
    reporter.server = made.database.read_server()
    reporter.begin(100.0)
    assert reporter.due
    reporter.store(Content())
    due = []
    for moment in (101.0, 109.0, 109.9):
        reporter.begin(moment)
        due.append(reporter.due)
    assert due == [False, False, True]


def test_what_the_service_says_beside_a_directive_is_kept(made: Bench) -> None:
    told = directive(made)
    rules = Rules(maintenance_windows=(MaintenanceWindow(WEEKDAYS, "00:00", 1440),))
    assert Reporter(made.database, made.reports, Silent(News(told, rules)), None).wait(60.0) is told
    assert made.database.rules.current == rules


def test_a_directive_is_carried_out_and_measured_once(made: Bench, reporter: Reporter) -> None:
    lab = Lab(made.measure, made.driver)
    directives = Directives(made.database, windows(made), reporter, NoSignals(), lab)
    asked = directive(made, measure=True)
    assert directives.execute(asked)
    assert made.engine.settings["work_mem"].value == "8192"
    assert not directives.execute(asked), "its outcome is told again, and nothing is done"
    assert made.driver.runs == 1


def test_a_trial_under_a_load_that_the_file_lacks_is_not_measured(made: Bench) -> None:
    with pytest.raises(DriverFailed, match="no load named night"):
        Lab(made.measure, made.driver, {"day": made.driver}).measured(directive(made, measure=True, loads=["night"]))
    assert made.driver.runs == 0


def test_a_look_at_a_server_that_is_away_says_why(made: Bench, reporter: Reporter) -> None:
    observer = Observer(made.database, windows(made), reporter, NoSignals(), driven=False)
    made.engine.up = False
    observer.observe()
    assert reporter.problems == ["connection refused"]
    assert reporter.server is None
    made.engine.up = True
    observer.observe()
    assert reporter.problems == []
    assert reporter.server == made.database.read_server()
