"""What every engine must do, whichever it is: one suite, run over each family and over the fake.

A test class derives from EngineConformance and gives the fixture `subject`: a server of its own, in any state that a
fresh one may be in, with the means to break it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.admission import past_configurations
from lutra_agent.admission.bounds import Bounds
from lutra_agent.changes.executor import DirectiveExecutor
from lutra_agent.changes.restore import restore
from lutra_agent.changes.snapshots import take_snapshots
from lutra_agent.clock import Clock, SystemClock
from lutra_agent.config.types import RestartConfig
from lutra_agent.control.downtime import Downtime
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.source import SettingSource
from lutra_agent.engines.common.telemetry import Sample
from lutra_agent.errors import DatabaseUnavailable
from lutra_agent.metrics.rates import Discarded, span
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import BASELINE, stored_snapshots
from lutra_agent.state.store import State
from lutra_models.catalog import meet
from lutra_models.catalog.statements import Step
from lutra_models.server import Host, Server
from lutra_models.wire import Directive, Outcome

from tests.support.conformance.source import BackingConformance, Kept, SourceConformance
from tests.support.fakes.clock import START
from tests.support.waiting import until

HOST = Host(memory_bytes=8 << 30, cores=4)


@dataclass
class Subject:
    """An engine beside its server. `fresh` reads every setting over a connection that nobody else has.

    `at_once` and `with_restart` are new values of some settings; `prevents_boot` is one that the server takes and does
    not start with; `refused` one that it never takes, found out by its catalogue or by itself. `not_kept` are settings
    that a restart changes by itself.
    """

    engine: Engine
    control: ServerControl
    folder: Path
    fresh: Callable[[], Mapping[str, str]]
    load: Callable[[], None]
    stop: Callable[[], None]
    at_once: Mapping[str, Any]
    with_restart: Mapping[str, Any]
    prevents_boot: Mapping[str, Any]
    refused: Mapping[str, Any]
    not_kept: frozenset[str] = frozenset()
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        self.state = State(self.folder)
        self.executor = self.executor_over(self.engine)

    def executor_over(self, engine: Engine) -> DirectiveExecutor:
        """One run of the agent over this folder."""
        bounds = Bounds("lab", False, 0.8, durability=True, driver=True, by_catalogue=False)
        store = ChangeStore(self.state)
        return DirectiveExecutor(engine, self.state, store, self.control, self.clock, self.read_server, lambda: bounds)

    def read_server(self) -> Server:
        return self.engine.server(HOST)

    def sample(self) -> Sample:
        now_s = self.clock.monotonic()
        return self.engine.telemetry.sample(START + timedelta(seconds=now_s), now_s)

    def do(self, identifier: str, settings: Mapping[str, Any], **more: Any) -> Outcome:
        return self.executor.execute(self.directive(identifier, settings, **more))

    def directive(self, identifier: str, settings: Mapping[str, Any], **more: Any) -> Directive:
        fields = {"id": identifier, "recommendation": identifier, "settings": dict(settings), "restart_allowed": True}
        expires = self.clock.now() + timedelta(minutes=10)
        return Directive.model_validate({**fields, "expires_at": expires, **more})

    def ran_with(self, settings: Mapping[str, Any]) -> None:
        """The agent's disk says that the server ran so once: how a fault gets past the memory check."""
        ran_with(self.state, self.read_server(), settings)

    def kept_settings(self) -> dict[str, str]:
        return {n: v for n, v in self.fresh().items() if n not in self.not_kept}

    def active(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """The catalogue's values of what a fresh connection reads, as far as that is the same text."""
        server = self.read_server()
        read = meet(server).values
        return {n: read[n] for n in names}

    @property
    def path(self) -> Path | None:
        """Of the settings file; None where the server's own source has none. Fails where it is not known."""
        backing = self.engine.own.backing
        if backing is None:
            return None
        path = backing.settings_file()
        assert path is not None
        return path

    def file(self) -> bytes | None:
        """None also where the source has none."""
        path = self.path
        return path.read_bytes() if path is not None and path.exists() else None


def ran_with(state: State, server: Server, settings: Mapping[str, Any]) -> None:
    now = {name: setting.value for name, setting in server.settings.items()}
    past_configurations.remember(state, {**now, **{name: str(value) for name, value in settings.items()}}, lab=True)


class HealthConformance:
    """Whether the server runs, and which start of it this is."""

    def test_a_server_that_is_down_is_unavailable_and_comes_back_as_another_one(self, subject: Subject) -> None:
        before, started = subject.sample(), subject.engine.health.started()
        downtime = Downtime(RestartConfig(), subject.engine.health, None)
        downtime.seen_up()
        assert started == subject.engine.health.started() != ""
        assert subject.read_server().role == "primary"
        subject.stop()
        for ask in (subject.engine.health.ping, subject.sample, subject.read_server):
            with pytest.raises(DatabaseUnavailable):
                ask()
        assert downtime.held_down()
        subject.control.start()
        subject.engine.health.ping()
        assert subject.engine.health.started() != started
        assert isinstance(span(before, subject.sample()), Discarded)


class TelemetryConformance:
    """What the server does."""

    def test_it_collects_and_two_samples_make_a_window(self, subject: Subject) -> None:
        before = subject.sample()
        subject.load()
        after = subject.sample()
        assert before.problems == after.problems == ()
        found = span(before, after)
        assert not isinstance(found, Discarded)
        assert found.problems == ()
        assert found.rates
        assert all(v >= 0 for v in found.rates.values())
        targets = subject.engine.telemetry.targets(before, after)
        assert set(targets.metrics) <= {"qps", "tps", "error_share"}
        assert all(v >= 0 for v in targets.metrics.values())

    def test_check_has_a_line_for_what_it_sees(self, subject: Subject) -> None:
        assert any(v.available for v in subject.engine.telemetry.visible())


class OwnSourceConformance(SourceConformance):
    """How the server's own settings are read and kept."""

    @pytest.fixture
    def kept(self, subject: Subject) -> Kept:
        return Kept(subject.engine.own, subject.engine.health.identity().version, subject.at_once)

    def test_settings_that_need_a_restart_are_the_accounts_to_change(self, subject: Subject) -> None:
        assert subject.engine.own.permissions(subject.with_restart).changeable == set(subject.with_restart)


class ChangeConformance:
    """What the agent makes of a setting source: changes, their undo, and what it does about faults."""

    def test_a_change_is_active_without_a_restart_and_taken_back_exactly(self, subject: Subject) -> None:
        before, file = subject.fresh(), subject.file()
        old = subject.active(subject.at_once)
        outcome = subject.do("rec_1", subject.at_once)
        assert (outcome.state, outcome.restarted, outcome.message) == ("applied", False, "")
        assert outcome.active == dict(subject.at_once) == subject.active(subject.at_once)
        baseline = stored_snapshots(subject.state, BASELINE)
        assert baseline is not None
        restore(subject.engine, subject.control, baseline, list(subject.at_once), restart=False)
        self.settle(subject, old)
        assert subject.fresh() == before
        assert subject.file() == file

    def test_a_change_with_a_restart_is_active_and_taken_back_exactly(self, subject: Subject) -> None:
        before, file = subject.kept_settings(), subject.file()
        wanted = {**subject.at_once, **subject.with_restart}
        outcome = subject.do("rec_1", wanted)
        assert (outcome.state, outcome.restarted, outcome.message) == ("applied", True, "")
        assert outcome.active == wanted == subject.active(wanted)
        baseline = stored_snapshots(subject.state, BASELINE)
        assert baseline is not None
        restore(subject.engine, subject.control, baseline, list(wanted), restart=True)
        assert subject.kept_settings() == before
        assert subject.file() == file

    def test_going_back_by_a_directive_makes_the_old_values_active(self, subject: Subject) -> None:
        wanted = {**subject.at_once, **subject.with_restart}
        old, before = subject.active(wanted), subject.kept_settings()
        assert subject.do("rec_1", wanted).state == "applied"
        assert subject.do("rec_2", old, restore=True).state == "applied"
        assert subject.active(wanted) == old
        after = subject.kept_settings()
        assert {n: v for n, v in after.items() if n not in wanted} == {
            n: v for n, v in before.items() if n not in wanted
        }

    def test_what_is_shown_is_what_is_executed_and_so_is_the_undo(self, subject: Subject) -> None:
        for wanted in (subject.at_once, {**subject.at_once, **subject.with_restart}):
            server = subject.read_server()
            live, before = meet(server), take_snapshots(subject.engine, server)
            shown = live.steps(live.changes(wanted))
            source = _Recording(subject.engine.own)
            engine = replace(subject.engine, sources=(source,))  # type: ignore[arg-type]
            directive = subject.directive(f"rec_{len(wanted)}", wanted)
            assert subject.executor_over(engine).execute(directive).state == "applied"
            assert source.executed == [s for one in shown for s in one.do]
            source.executed.clear()
            restart = any(one.change.applies == "restart" for one in shown)
            restore(engine, subject.control, before, [one.change.name for one in shown], restart)
            assert source.executed == [s for one in reversed(shown) for s in one.undo]

    def test_what_the_server_never_takes_is_refused_or_undone_and_nothing_else_changes(self, subject: Subject) -> None:
        before, file = subject.fresh(), subject.file()
        outcome = subject.do("rec_1", {**subject.at_once, **subject.refused})
        assert outcome.state in ("refused", "reverted")
        assert outcome.code == "invalid_value"
        assert subject.fresh() == before
        assert subject.file() == file

    def test_a_restart_that_is_not_allowed_is_refused_before_the_first_statement(self, subject: Subject) -> None:
        before, file = subject.fresh(), subject.file()
        outcome = subject.do("rec_1", {**subject.at_once, **subject.with_restart}, restart_allowed=False)
        assert (outcome.state, outcome.code) == ("refused", "restart_not_allowed")
        assert (subject.fresh(), subject.file()) == (before, file)

    def test_it_survives_a_value_that_prevents_the_boot(self, subject: Subject) -> None:
        before, file = subject.kept_settings(), subject.file()
        wanted = {**subject.at_once, **subject.prevents_boot}
        subject.ran_with(wanted)
        outcome = subject.do("rec_1", wanted)
        assert (outcome.state, outcome.code) == ("reverted", "did_not_start")
        subject.engine.health.ping()
        assert subject.kept_settings() == before
        assert subject.file() == file

    def test_an_agent_that_ended_half_way_goes_back_at_its_next_start(self, subject: Subject) -> None:
        before, file = subject.fresh(), subject.file()
        old = subject.active(subject.at_once)
        engine = subject.engine
        killed = subject.executor_over(replace(engine, sources=(_EndsAfterTheFirst(engine.own),)))  # type: ignore[arg-type]
        with pytest.raises(Ended):
            killed.execute(subject.directive("rec_1", subject.at_once))
        outcome = subject.executor.recover()
        assert outcome is not None
        assert (outcome.state, outcome.code) == ("reverted", "internal_error")
        self.settle(subject, old)
        assert subject.fresh() == before
        assert subject.file() == file

    def settle(self, subject: Subject, wanted: Mapping[str, Any]) -> None:
        """A reload is asynchronous on some servers."""
        until(lambda: subject.active(wanted) == wanted)


class EngineConformance(
    HealthConformance, TelemetryConformance, OwnSourceConformance, BackingConformance, ChangeConformance
):
    """Derive, and give the fixture `subject`."""


class Ended(BaseException):
    """The agent's process ended here."""


class _Recording:
    """A setting source that keeps the steps which it carries out."""

    def __init__(self, source: SettingSource) -> None:
        self._source = source
        self.executed: list[Step] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def execute(self, steps: Sequence[Step]) -> None:
        self.executed += steps
        self._source.execute(steps)


class _EndsAfterTheFirst:
    """A setting source whose agent is killed when the first step of a change is done."""

    def __init__(self, source: SettingSource) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def execute(self, steps: Any) -> None:
        self._source.execute(steps[:1])
        raise Ended
