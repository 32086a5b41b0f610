"""A pika, as one was recorded, and a real one where there is one: the suite of every engine, and each of its traps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.conformance.engine import EngineConformance, Subject
from tests.support.pika.scratch import RecordedPika
from tests.support.servers.engines import PIKAS, scratch
from tests.support.servers.subjects import subject_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SMALL = "14045392"
"""max-write-buffer-size as the case study had it."""
OF_4 = {"max-write-buffer-number": "max-write-buffer-num"}
"""What settings are called from 3.4.1 on."""


@pytest.fixture(scope="class", params=PIKAS)
def server(request: pytest.FixtureRequest) -> Iterator[RecordedPika]:
    with scratch(request.param, **{"max-write-buffer-size": SMALL}) as server:
        assert isinstance(server, RecordedPika)
        yield server


@pytest.fixture
def subject(server: RecordedPika, tmp_path: Path) -> Iterator[Subject]:
    found = subject_of(server, tmp_path / "state")
    yield found
    found.engine.health.close()


class TestEngine(EngineConformance):
    def test_it_survives_a_value_that_prevents_the_boot(self, subject: Subject) -> None:
        """Of no setting that an agent changes a value was recorded that prevents it: the loader replaces them."""
        assert not subject.prevents_boot


class TestTraps:
    def test_what_ends_the_server_or_locks_clients_out_is_never_sent(self, subject: Subject) -> None:
        for wanted in (1_000_000, 5):
            outcome = subject.do(f"rec_{wanted}", {"maxclients": wanted})
            assert (outcome.state, outcome.code) == ("refused", "invalid_value")
            subject.engine.health.ping()

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("write-buffer-size", 0),
            ("write-buffer-size", 8 << 30),
            ("max-client-response-size", 3_000_000_000),
            ("max-write-buffer-number", 0),
            ("timeout", -1),
            ("small-compaction-threshold", 0),
            ("expire-logs-nums", 1),
            ("max-background-compactions", 100),
        ],
    )
    def test_nonsense_that_it_would_take_is_refused_before_it_is_sent(
        self, subject: Subject, name: str, value: int
    ) -> None:
        before = subject.fresh()
        name = name if name in before else OF_4[name]
        assert subject.do(f"rec_{name}_{value}", {name: value}).code == "invalid_value"
        assert subject.fresh() == before

    def test_a_live_change_outlasts_a_restart_under_the_name_that_the_file_has(
        self, server: RecordedPika, subject: Subject
    ) -> None:
        name = next(n for pair in OF_4.items() for n in pair if n in subject.fresh())
        assert subject.do("rec_1", {name: 5}).state == "applied"
        assert b"max-write-buffer-num : 5\n" in (subject.file() or b"")
        server.stop()
        server.start()
        assert subject.fresh()[name] == server.engines_own()["max-write-buffer-number"] == "5"

    def test_a_unit_in_the_file_is_read_as_the_server_reads_it(self, server: RecordedPika, subject: Subject) -> None:
        assert subject.do("rec_unit", {"arena-block-size": "2MB"}).state == "applied"
        assert b"arena-block-size : 2097152\n" in (subject.file() or b"")

    def test_an_answer_of_err_although_the_value_was_taken_ends_with_the_old_value(
        self, server: RecordedPika, subject: Subject
    ) -> None:
        server.sql("CONFIG SET max-cache-files 4000")  # somebody else: from now on it answers so
        before, engine = subject.fresh(), server.engines_own()
        outcome = subject.do("rec_err", {"write-buffer-size": 32 << 20}, restart_allowed=False)
        assert (outcome.state, outcome.code) == ("reverted", "invalid_value")
        assert "Unsupport option member" in outcome.message
        assert subject.fresh() == before
        assert server.engines_own() == engine

    def test_an_ok_that_was_none_is_found_by_reading_back(self, server: RecordedPika, subject: Subject) -> None:
        source = subject.engine.own
        steps = source.undo("max-client-response-size", None, "3000000000", False)
        with pytest.raises(Exception, match="said OK to 3000000000 and tells -1294967296"):
            source.execute(steps)
        server.sql("CONFIG SET max-client-response-size 1073741824")
