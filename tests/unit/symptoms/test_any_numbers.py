"""Whatever is measured and allowed: no exception, no cure outside its range, the policy, or the memory limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models.catalog import meet
from lutra_models.knobs import Configuration, Value
from lutra_models.server import Policy, Server
from lutra_models.symptoms import MeasuredWindow, Symptom, diagnose, of_engine

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import a_server
from tests.unit.symptoms.cases import CASES

pytestmark = pytest.mark.slow

ENGINES = ("postgresql", "mysql", "mariadb")
PLAIN = Policy()
number = st.sampled_from([0.0, 1.0, 10.0, 1e3, 1e6, 1e9, 1e12, 1e18, 0.5, 1e-9]) | st.floats(0, 1e18)


def metrics_of(engine: str) -> list[str]:
    return sorted({m.reported for row in of_engine(engine) for m in row.measured.values()})


@st.composite
def windows(draw: st.DrawFn, engine: str) -> list[MeasuredWindow]:
    """Cases that show something, laid over each other, with any numbers in between."""
    cases = [c for c in CASES if c.server.engine == engine]
    shown = draw(st.lists(st.sampled_from(cases), max_size=12))
    found: dict[str, float] = {}
    for case in shown:
        found |= case.of(case.shown).metrics
    found |= draw(st.dictionaries(st.sampled_from(metrics_of(engine)), number, max_size=20))
    seconds = draw(st.sampled_from([1e-3, 10.0, 3600.0, 1e7]))
    return [MeasuredWindow(seconds, found)] * draw(st.integers(1, 2))


@st.composite
def servers(draw: st.DrawFn, engine: str) -> Server:
    """A fresh one, or that of a case, on another host."""
    memory, rotational = draw(st.sampled_from([0.5, 1, 2, 8, 64, 512])), draw(st.sampled_from([None, True, False]))
    fresh = a_server(draw(st.sampled_from(["15", "16", "18"]))) if engine == "postgresql" else a_mysqld(engine)
    server = draw(st.sampled_from([fresh, *(c.server for c in CASES if c.server.engine == engine)]))
    host = replace(
        server.host, memory_bytes=int(memory * 2**30), cores=draw(st.sampled_from([0.5, 2, 64])), rotational=rotational
    )
    return replace(server, host=host, peak_connections=draw(st.sampled_from([0, 90])))


@st.composite
def policies(draw: st.DrawFn, server: Server) -> Policy:
    named = st.frozensets(st.sampled_from(sorted(server.settings)), max_size=20)
    values = meet(server).values
    return Policy(
        pins={n: values[n] for n in draw(named)},
        movable=draw(st.none() | named.filter(lambda n: not _durable(server, n))),
        restart=draw(st.booleans()),
        memory_fraction=draw(st.sampled_from([0.1, 0.8, 1.0])),
    )


def _durable(server: Server, names: frozenset[str]) -> bool:
    return any(meet(server).rows[n].risk == "durability" for n in names)


def offered(found: tuple[Symptom, ...]) -> Mapping[str, Value]:
    """What is offered of each setting, the strongest symptom's word last."""
    return {c.setting: c.after for s in reversed(found) for c in s.cures if c.after is not None}


@pytest.mark.parametrize("engine", ENGINES)
@given(data=st.data())
@settings(max_examples=60)
def test_every_cure_keeps_its_range_the_policy_and_the_memory_limit(engine: str, data: st.DataObject) -> None:
    server = data.draw(servers(engine))
    live, policy = meet(server), data.draw(policies(server))
    found = diagnose(live, policy, data.draw(windows(engine))).symptoms
    assert [s.rank for s in found] == sorted(s.rank for s in found)
    for symptom in found:
        assert 0 < symptom.strength <= 1
        assert math.isfinite(symptom.measured)
        for cure in symptom.cures:
            assert cure.after is not None or cure.obstacle
            if cure.after is not None:
                space = live.space(replace(policy, movable=frozenset({cure.setting})))
                assert cure.after in space[cure.setting].domain
                assert live.parse(cure.setting, cure.after) == cure.after
                assert cure.setting not in policy.pins
                assert policy.movable is None or cure.setting in policy.movable
    together = offered(found)
    if together:
        rules = live.space(replace(policy, movable=frozenset(together))).rules
        assert [r for rule in rules if (r := rule(Configuration(together)))] == []


@pytest.mark.parametrize("engine", ENGINES)
def test_no_window_says_nothing_that_is_wrong(engine: str) -> None:
    server = a_server() if engine == "postgresql" else a_mysqld(engine)
    server = a_server() if engine == "postgresql" else a_mysqld(engine, log_bin="OFF")
    assert [s.name for s in diagnose(meet(server), PLAIN, []).symptoms if s.kind != "note"] == []


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_a_window_lasts_a_positive_time(seconds: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        MeasuredWindow(seconds, {})
