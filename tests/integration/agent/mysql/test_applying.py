"""How the family carries out a change: values that are cut or rounded, statements refused, a connection lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.changes.restore import restore
from lutra_agent.changes.snapshots import differences
from lutra_agent.errors import ApplyRefused
from lutra_agent.state.snapshot import BASELINE, stored_snapshots
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_models.catalog.statements import Step

from tests.support.conformance.engine import Subject
from tests.support.servers.engines import MYSQLDS, scratch
from tests.support.servers.subjects import subject_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module", params=MYSQLDS)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    with scratch(request.param) as found:
        yield found


@pytest.fixture
def subject(server: ScratchMysqld, tmp_path: Path) -> Iterator[Subject]:
    found = subject_of(server, tmp_path / "state")
    yield found
    found.engine.health.close()


def after_the_first(subject: Subject, monkeypatch: pytest.MonkeyPatch, happens: Any) -> None:
    """Let something happen when the first step of a change is done."""
    real, done = subject.engine.own.execute, []

    def execute(statements: Any) -> None:
        if done:
            return real(statements)
        done.append(True)
        real(statements[:1])
        happens()
        return real(statements[1:])

    monkeypatch.setattr(subject.engine.own, "execute", execute)


def test_a_connection_killed_between_two_statements_is_undone(
    server: ScratchMysqld, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, file = subject.fresh(), subject.file()

    def kill() -> None:
        connection = subject.engine.own._session.connection  # type: ignore[attr-defined]
        server.sql(f"KILL {connection.row('SELECT CONNECTION_ID()')[0]}")

    after_the_first(subject, monkeypatch, kill)
    outcome = subject.do("rec_1", subject.at_once)
    assert (outcome.state, outcome.code) == ("reverted", "database_unavailable")
    assert (subject.fresh(), subject.file()) == (before, file)


def test_a_value_that_another_one_cuts_is_asked_for_again(subject: Subject) -> None:
    wanted = {n: v for n, v in subject.at_once.items() if n.startswith("innodb_io")}
    assert subject.do("rec_1", wanted).active == wanted
    baseline = stored_snapshots(subject.state, BASELINE)
    assert baseline is not None
    restore(subject.engine, subject.control, baseline, list(wanted), restart=False)
    assert differences(subject.read_server(), baseline) == []


def test_a_number_that_the_server_rounds_is_reported_and_no_failure(subject: Subject) -> None:
    before, file = subject.fresh(), subject.file()
    outcome = subject.do("rec_1", {"innodb_buffer_pool_size": 200_000_000})
    assert outcome.state == "applied"
    assert outcome.active["innodb_buffer_pool_size"] != 200_000_000
    assert "not 200000000" in outcome.message
    baseline = stored_snapshots(subject.state, BASELINE)
    assert baseline is not None
    restore(subject.engine, subject.control, baseline, ["innodb_buffer_pool_size"], restart=False)
    assert (subject.fresh(), subject.file()) == (before, file)


def test_a_statement_that_the_server_refuses_takes_the_others_back(subject: Subject) -> None:
    before, file = subject.fresh(), subject.file()
    good = subject.engine.own.undo("sort_buffer_size", None, "524288", restart=False)
    steps = [*good, Step("x", "SET GLOBAL no_such = 1")]
    with pytest.raises(ApplyRefused) as refused:
        subject.engine.own.execute(steps)
    assert refused.value.apply_code == "invalid_value"
    subject.engine.own.execute(
        subject.engine.own.undo("sort_buffer_size", None, before["sort_buffer_size"], restart=False)
    )
    assert subject.fresh() == before
    backing = subject.engine.own.backing
    assert backing is not None
    assert backing.says(subject.file() or b"") == backing.says(file or b"")
