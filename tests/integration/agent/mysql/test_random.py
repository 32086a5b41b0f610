"""Random legal configurations: what the agent reports is what a fresh connection reads, and the way back is exact."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path

import pytest
from lutra_agent import guard
from lutra_agent.lab.mysqld import ScratchMysqld
from lutra_models.catalog import Policy, load
from lutra_models.catalog.facts import Server
from lutra_models.knobs import Choice, Configuration, KnobSpace, Value

from tests.support.conformance import Subject
from tests.support.mysqlds import engine_of, subject_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]

COUNT = int(os.environ.get("LUTRA_RANDOM_CONFIGURATIONS", "4"))


def drawn(space: KnobSpace, server: Server, rng: random.Random) -> Configuration:
    """A configuration that the space's rules allow."""
    while True:
        found: dict[str, Value] = {}
        for knob in space:
            domain = knob.domain
            if isinstance(domain, Choice):
                found[knob.name] = rng.choice(domain.options)
                continue
            low, high = float(domain.low), float(domain.high)
            number = math.exp(rng.uniform(math.log(low), math.log(high))) if domain.log else rng.uniform(low, high)
            found[knob.name] = min(max(round(number), math.ceil(low)), math.floor(high)) if domain.integer else number
        catalog = load(server.engine)
        made = Configuration({n: catalog.parse(server, n, v) for n, v in found.items()})
        if space.refusal(made) is None:
            return made


@pytest.fixture
def subject(own_mysqld: ScratchMysqld, tmp_path: Path) -> Subject:
    return subject_of(own_mysqld, tmp_path / "state")


def test_random_configurations_are_active_as_reported_and_taken_back_exactly(
    own_mysqld: ScratchMysqld, subject: Subject
) -> None:
    rng, before, file = random.Random(4), subject.kept_settings(), subject.file()
    server = subject.look()
    space = load(server.engine).space(server, Policy(durability=True))
    for number in range(COUNT):
        wanted = drawn(space, server, rng)
        outcome = subject.do(f"rec_{number}", dict(wanted))
        assert outcome.state == "applied", outcome
        if os.environ.get("LUTRA_RANDOM_CONFIGURATIONS"):
            print(number, outcome.restarted, outcome.message, flush=True)
        fresh = engine_of(own_mysqld)
        read = load(server.engine).read(fresh.server(subject.look().host))
        fresh.close()
        assert {n: read[n] for n in wanted} == outcome.active
        told = {n for n in wanted if outcome.active[n] != wanted[n]}
        assert told == {said.split(" ")[0] for said in outcome.message.split("; ") if said}
    snapshot = guard.Snapshot.from_dict(subject.state.load(guard.BASELINE))
    names = guard.differences(subject.look(), snapshot)
    guard.go_back(subject.engine, subject.control, snapshot, names, restart=True)
    assert guard.differences(subject.look(), snapshot) == []
    assert subject.kept_settings() == before
    assert subject.file() == file
    subject.engine.close()
