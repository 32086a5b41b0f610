"""Random legal configurations: what the agent reports is what a fresh connection reads, and the way back is exact."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.changes.restore import restore
from lutra_agent.changes.snapshots import differences
from lutra_agent.state.snapshot import BASELINE, stored_snapshots
from lutra_lab.servers.base import ScratchServer
from lutra_models.catalog import meet
from lutra_models.knobs import Choice, Configuration, KnobSpace, Number, Value
from lutra_models.server import Policy, Server

from tests.support.conformance.engine import HOST, Subject
from tests.support.servers.engines import OTHER_STORES, scratch
from tests.support.servers.subjects import ENGINES, engine_of, subject_of
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.thorough]

COUNT = int(os.environ.get("LUTRA_RANDOM_CONFIGURATIONS", "4"))
TAKEN_BACK_EVERY = 3
SPECIAL_SHARE = 0.3


def value(domain: Choice | Number, rng: random.Random) -> Value:
    if isinstance(domain, Choice):
        return rng.choice(domain.options)
    if domain.special and rng.random() < SPECIAL_SHARE:
        return rng.choice(domain.special)
    low, high = float(domain.low), float(domain.high)
    number = math.exp(rng.uniform(math.log(low), math.log(high))) if domain.log else rng.uniform(low, high)
    return domain.clip(number)


def drawn(space: KnobSpace, server: Server, rng: random.Random) -> Configuration:
    """A configuration that the space's rules allow."""
    live = meet(server)
    while True:
        found = {knob.name: value(knob.domain, rng) for knob in space}
        made = Configuration({n: live.parse(n, v) for n, v in found.items()})
        if space.refusal(made) is None:
            return made


@pytest.fixture(params=[*ENGINES, *OTHER_STORES])
def server(request: pytest.FixtureRequest) -> Iterator[ScratchServer]:
    with scratch(request.param) as found:
        yield found


def test_random_configurations_are_active_as_reported_and_taken_back_exactly(
    server: ScratchServer, tmp_path: Path
) -> None:
    subject = subject_of(server, tmp_path / "state")
    rng, before, file = random.Random(4), subject.kept_settings(), subject.file()
    found = subject.read_server()
    space = meet(found).space(Policy(durability=True))
    for number in range(COUNT):
        began = time.monotonic()
        active_as_reported(server, subject, f"rec_{number}", drawn(space, found, rng))
        if number % TAKEN_BACK_EVERY == TAKEN_BACK_EVERY - 1 or number == COUNT - 1:
            taken_back(subject)
            until(lambda: subject.kept_settings() == before)
            assert subject.file() == file
        print(f"{found.engine}: configuration {number + 1} of {COUNT}, {time.monotonic() - began:.1f} s", flush=True)
    subject.engine.health.close()


def active_as_reported(server: ScratchServer, subject: Subject, identifier: str, wanted: Configuration) -> None:
    outcome = subject.do(identifier, dict(wanted), measure=True)
    assert outcome.state == "applied", outcome
    fresh = engine_of(server)
    seen = fresh.server(HOST)
    fresh.health.close()
    read = meet(seen).values
    assert {n: read[n] for n in wanted} == outcome.active
    told = {n for n in wanted if outcome.active[n] != wanted[n]}
    assert told == {said.split(" ")[0] for said in outcome.message.split("; ") if said}


def taken_back(subject: Subject) -> None:
    baseline = stored_snapshots(subject.state, BASELINE)
    assert baseline is not None
    names = differences(subject.read_server(), baseline)
    assert names
    restore(subject.engine, subject.control, baseline, names, restart=True)
    until(lambda: differences(subject.read_server(), baseline) == [])
