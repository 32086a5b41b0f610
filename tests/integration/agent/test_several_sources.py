"""One change over a real server and a file of its host, for each engine that has a second setting source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.errors import ApplyRefused
from lutra_lab.servers.base import ScratchServer
from lutra_models.catalog import load
from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER

from tests.support.conformance.engine import Subject
from tests.support.servers.engines import scratch
from tests.support.servers.families import known
from tests.support.servers.subjects import ENGINES, subject_of

WITH_SECOND_SOURCE = tuple(engine for engine in ENGINES if known(engine).host_file)

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module", params=WITH_SECOND_SOURCE)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchServer]:
    with scratch(request.param) as server:
        yield server


@pytest.fixture
def host_file(tmp_path: Path) -> Path:
    return tmp_path / "etc" / "host.conf"


@pytest.fixture
def subject(server: ScratchServer, tmp_path: Path, host_file: Path) -> Iterator[Subject]:
    host_file.parent.mkdir()
    host_file.write_text("# of its operator\n")
    found = subject_of(server, tmp_path / "state", **{known(server.engine).host_file: host_file})
    yield found
    found.engine.health.close()


def everywhere(subject: Subject, **more: Any) -> dict[str, Any]:
    """New values in both sources."""
    return {**subject.at_once, **known(subject.engine.family).on_host, **more}


def state(subject: Subject, host_file: Path) -> tuple[Any, ...]:
    host = {n: s.value for n, s in subject.engine.sources[1].read().items()}
    return subject.fresh(), host, subject.file(), host_file.read_bytes()


def test_the_sources_are_named_as_their_catalogues_say(subject: Subject) -> None:
    for source in subject.engine.sources:
        assert load(source.catalogue).source == source.name
        assert source.read().keys() <= {r.name for r in load(source.catalogue).rows}
    assert [s.scope for s in subject.engine.sources] == ["server", "host"]
    assert subject.engine.own.name == SERVER


@pytest.mark.parametrize("restart", [False, True])
def test_one_change_over_both_is_applied_verified_and_undone_as_one(
    subject: Subject, host_file: Path, restart: bool
) -> None:
    before, wanted = state(subject, host_file), everywhere(subject, **(subject.with_restart if restart else {}))
    old = subject.active(wanted)
    outcome = subject.do("rec_1", wanted)
    assert (outcome.state, outcome.restarted, outcome.message) == ("applied", restart, "")
    assert outcome.active == wanted == subject.active(wanted)
    assert host_file.read_bytes().startswith(b"# of its operator\n")
    assert subject.do("rec_2", old, restore=True).state == "applied"
    assert state(subject, host_file)[:2] == before[:2]


def test_what_the_second_source_refuses_undoes_the_first(subject: Subject, host_file: Path) -> None:
    before = state(subject, host_file)
    refused = known(subject.engine.family).refused_by_host
    outcome = subject.do("rec_1", everywhere(subject, **refused))
    assert (outcome.state, outcome.code) == ("reverted", "invalid_value")
    assert next(iter(refused)) in outcome.message
    assert state(subject, host_file) == before


def test_a_server_that_does_not_start_gets_both_files_back(subject: Subject, host_file: Path) -> None:
    before, wanted = state(subject, host_file), everywhere(subject, **subject.prevents_boot)
    subject.ran_with(wanted)
    outcome = subject.do("rec_1", wanted)
    assert (outcome.state, outcome.code) == ("reverted", "did_not_start")
    subject.engine.health.ping()
    assert state(subject, host_file) == before


@pytest.mark.parametrize("ends_after", [0, 1])
def test_an_agent_that_is_killed_between_the_sources_undoes_both_at_its_next_start(
    subject: Subject, host_file: Path, monkeypatch: pytest.MonkeyPatch, ends_after: int
) -> None:
    before = state(subject, host_file)
    source: Any = subject.engine.sources[ends_after]
    real = source.execute

    def execute(steps: Any) -> None:
        real(steps)
        raise Ended

    with monkeypatch.context() as patched:
        patched.setattr(source, "execute", execute)
        with pytest.raises(Ended):
            subject.do("rec_1", everywhere(subject))
    assert state(subject, host_file) != before
    outcome = subject.executor.recover()
    assert outcome is not None
    assert (outcome.state, outcome.code) == ("reverted", "internal_error")
    assert state(subject, host_file) == before


def test_an_undo_that_the_host_prevents_waits_for_it(subject: Subject, host_file: Path) -> None:
    before, wanted = state(subject, host_file), everywhere(subject)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(subject.engine.sources[0].activation, "reload", refused)
        patched.setattr(subject.engine.sources[1].activation, "reload", refused)
        outcome = subject.do("rec_1", wanted)
    assert (outcome.state, "not yet undone" in outcome.message) == ("failed", True)
    assert subject.executor.recover() is not None
    assert state(subject, host_file) == before


class Ended(BaseException):
    """The agent's process ended here."""


def refused() -> None:
    raise ApplyRefused(ApplyCode.INTERNAL_ERROR, "no reload")
