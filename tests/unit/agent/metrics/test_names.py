"""Names of objects on their way from a collector to the service."""

from __future__ import annotations

import os
from pathlib import Path

from lutra_agent.engines.common.answers import reading
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus
from lutra_agent.engines.redis.telemetry.collectors import FromInfo
from lutra_agent.metrics.measure import Measure
from lutra_agent.metrics.rates import Discarded

from tests.support.agent.loops import FakeProbe, bench, turn


def test_a_window_brings_the_names_to_the_service_as_one_line_each(tmp_path: Path) -> None:
    made = bench(tmp_path, "observe", with_driver=False)
    made.engine.texts = {"off_names": "orders\n\x1b[2J", "long": "x" * 300}
    turn(made, 4)
    told = [r.texts for r in made.line.reports if r.window is not None]
    assert told
    assert told[-1]["database.off_names"] == "orders??[2J"
    assert len(told[-1]["database.long"]) == 200


def test_where_the_file_says_no_names_none_leaves_the_agent(tmp_path: Path) -> None:
    made = bench(tmp_path, "observe", with_driver=False)
    made.engine.texts = {"off_names": "orders"}
    measure = Measure(made.engine, FakeProbe(tmp_path), made.clock, lambda: Place(os.getpid()), names=False)
    before = measure.sample()
    made.clock.sleep(10)
    window = measure.window(before, measure.sample())
    assert not isinstance(window, Discarded)
    assert window.metrics["database.numbackends"] == 3
    assert window.texts == {}


def test_each_family_of_engines_reads_texts_beside_numbers() -> None:
    found = reading({"off": 2, "off_names": "a, b", "other": "c", "none": None}, frozenset({"off"}), texts=TEXTS)
    assert (found.counters, found.gauges, found.texts) == ({}, {"off": 2}, {"off_names": "a, b"})
    assert reading({"off_names": b"\xff"}, frozenset(), texts=TEXTS).texts == {"off_names": "\ufffd"}
    status = FromStatus("x", {"n": "N"}, texts={"name": "Name"})
    assert status.read(None, {"N": "1", "Name": "a"}) == status.read(None, {"N": "1", "Name": "a", "Other": "b"})  # type: ignore[arg-type]
    assert FromInfo("x", texts={"host": "master_host"}).read({"master_host": "10.0.0.1"}).texts == {"host": "10.0.0.1"}  # type: ignore[union-attr]
    assert FromInfo("x", texts={"host": "master_host"}).read({}) is None


TEXTS = frozenset({"off_names", "none"})
