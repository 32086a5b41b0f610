"""`lutra-agent symptoms`: what the server shows just now, and which settings would cure it. Changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from lutra_models.catalog import meet
from lutra_models.server import Policy
from lutra_models.symptoms import Cure, Diagnosis, MeasuredWindow, diagnose

from lutra_agent.clock import Clock
from lutra_agent.config.types import Config
from lutra_agent.metrics.measure import Measure
from lutra_agent.metrics.rates import Discarded
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.local_database import LocalDatabase

LONGEST_WINDOW_S = 10.0


def look(config: Config, seconds: float, clock: Clock) -> Diagnosis:
    """Of windows of at most ten seconds. Raises DatabaseUnavailable and CollectionFailed."""
    database = local_database(config, clock)
    try:
        database.engine.health.ping()
        windows = list(_windows(database, seconds, clock))
        restart = config.agent.mode != "reload_only"
        policy = Policy(
            restart=restart,
            durability=config.agent.durability,
            host=config.host.settings,
            memory_fraction=config.agent.memory_fraction,
            memory_count=config.agent.memory_count,
        )
        return diagnose(meet(database.observed_server()), policy, windows)
    finally:
        database.engine.health.close()


def show(found: Diagnosis, as_json: bool) -> str:
    return json.dumps(asdict(found), indent=1) if as_json else "\n".join(_lines(found))


def _windows(database: LocalDatabase, seconds: float, clock: Clock) -> Iterator[MeasuredWindow]:
    engine = database.engine
    measure = Measure(engine.telemetry, database.probe, clock, database.place)
    before, end = measure.sample(), clock.monotonic() + seconds
    while (left := end - clock.monotonic()) > 0:
        clock.sleep(min(left, LONGEST_WINDOW_S))
        after = measure.sample()
        content = measure.window(before, after)
        if not isinstance(content, Discarded):
            yield MeasuredWindow(after.monotonic_s - before.monotonic_s, content.metrics)
        before = after


def _lines(found: Diagnosis) -> Iterator[str]:
    yield f"{found.windows} windows, {found.seconds:.0f} s"
    for symptom in found.symptoms:
        yield ""
        yield f"{symptom.strength:.2f}  {symptom.kind} {symptom.name}: {symptom.sentence}"
        yield from (f"      {line}" for line in (*map(_cure, symptom.cures), *symptom.statements))
    if not found.symptoms:
        yield "nothing that a symptom describes"
    if found.not_judged:
        yield ""
        yield f"not judged, as something that it reads is missing: {', '.join(found.not_judged)}"


def _cure(cure: Cure) -> str:
    if cure.after is None:
        return f"{cure.setting} stays at {cure.before_text}: {cure.obstacle}"
    was = f", set in {cure.set_by}" if cure.set_by else ""
    bound = f" (no more: {cure.obstacle})" if cure.obstacle else ""
    but = f" (not for {cure.unreached}, with a value of their own)" if cure.unreached else ""
    return f"{cure.setting} {cure.before_text} → {cure.after_text} ({cure.applies}{was}): {cure.reason}{bound}{but}"
