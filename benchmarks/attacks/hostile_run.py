"""One agent in one mode beside one real server, for an hour of simulated time under a hostile service."""

from __future__ import annotations

import logging
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import psutil
from lutra_agent.commands.agent_file import parse
from lutra_agent.config.types import Config
from lutra_agent.errors import ConfigError
from lutra_agent.runtime.compose import running
from lutra_lab.scratch import scratch_of
from lutra_lab.servers.base import ScratchServer
from lutra_models.maintenance import WEEKDAYS, MaintenanceWindow

from benchmarks.attacks import hostile_oracle
from benchmarks.attacks.hostile_answers import Service, answering
from benchmarks.attacks.hostile_clock import JumpingClock
from benchmarks.attacks.hostile_directives import Liar
from benchmarks.attacks.hostile_oracle import Moment, Oracle
from benchmarks.attacks.hostile_traffic import Traffic
from benchmarks.attacks.stores import DEBIAN_15, scratch_folder
from tests.support.agent.processes import TOKEN, document
from tests.support.fakes.engine import NoSignals

ENGINES = ("postgresql", "mysql", "mariadb")
MODES = ("observe", "reload_only", "restart_in_window")
INTERVAL_S = 10
CONFIRM_S = 300
MEMORY_FRACTION = 0.2
CYCLES_PER_LIFE = 60
WINDOW_AFTER_MINUTES, WINDOW_MINUTES = 15, 25


def run(stop: Event, engine: str, modes: tuple[str, ...], hours: float, seed: int) -> list[dict[str, Any]]:
    """Every mode in turn on a server of its own; what was found in each."""
    os.environ["LUTRA_AGENT_TOKEN"] = TOKEN
    logging.disable(logging.CRITICAL)
    return [_mode(engine, mode, hours, seed + number) for number, mode in enumerate(modes) if not stop.is_set()]


def _mode(engine: str, mode: str, hours: float, seed: int) -> dict[str, Any]:
    with scratch_folder() as folder, _scratch(engine, folder / "server") as server:
        return _under_attack(server, engine, mode, hours, seed, folder)


@contextmanager
def _scratch(engine: str, folder: Path) -> Iterator[ScratchServer]:
    debians = DEBIAN_15 if engine == "postgresql" and DEBIAN_15.exists() else None
    with scratch_of(engine)(folder, programs=debians) as server:
        yield server


def _under_attack(
    server: ScratchServer, engine: str, mode: str, hours: float, seed: int, folder: Path
) -> dict[str, Any]:
    rng, clock = random.Random(seed), JumpingClock()
    windows = _windows(clock.now())
    config, in_file = _config(server, "http://127.0.0.1:1", folder, mode, windows)
    oracle = Oracle(config)
    traffic, service = Traffic(server, rng), Service(Liar(oracle.first, rng, clock.now), random.Random(seed + 1))
    with answering(service):
        config, _ = _config(server, service.url, folder, mode, windows)
        before, peak = psutil.Process().memory_info().rss, [0]
        cycles = _cycles(config, clock, service, oracle, traffic, hours * 3600, peak)
        service.honest = True
        cycles += _cycles(config, clock, service, oracle, traffic, clock.monotonic() + CONFIRM_S + 240, peak)
    oracle.close()
    told = tuple(MaintenanceWindow(**{**w, "weekdays": tuple(w["weekdays"])}) for w in service.windows_told[:1])
    stories = [
        *oracle.stories,
        *_afterwards(config, service, oracle, traffic, windows if in_file else told, clock.now()),
    ]
    return {
        "engine": engine,
        "mode": mode,
        "simulated_s": round(clock.monotonic()),
        "cycles": cycles,
        "server_away": oracle.away,
        "offered": dict(service.offered),
        "answers": dict(service.answers),
        "outcomes": _by_kind(service),
        "collapsed": len(traffic.collapsed),
        "grew_mb": round((peak[0] - before) / 2**20),
        "windows_in_file": in_file,
        "stories": stories,
    }


def _cycles(
    config: Config,
    clock: JumpingClock,
    service: Service,
    oracle: Oracle,
    traffic: Traffic,
    until_s: float,
    peak: list[int],
) -> int:
    """The agent's cycles until the simulated moment, its process ended and begun again now and then."""
    cycles, last = 0, _last(oracle)
    while clock.monotonic() < until_s:
        with running(config, clock=clock, signals=NoSignals()) as loop:
            for _ in range(CYCLES_PER_LIFE):
                loop.cycle()
                cycles += 1
                peak[0] = max(peak[0], psutil.Process().memory_info().rss)
                moment = oracle.check(clock.now())
                if cycles % 20 == 0:
                    print(f"{config.database.engine}, {config.agent.mode}: {clock.monotonic():.0f} s", flush=True)
                if moment is not None:
                    traffic.go_on(moment.at)
                    if last is not None and moment.different != last.different:
                        traffic.changed(moment.at, _newest(service))
                    last = moment
                if clock.monotonic() >= until_s:
                    break
    return cycles


def _last(oracle: Oracle) -> Moment | None:
    return oracle.moments[-1] if oracle.moments else None


def _newest(service: Service) -> str:
    """The directive that was applied last, as far as it was told."""
    applied = [o for (_, state), o in service.outcomes.items() if state == "applied"]
    return str(max(applied, key=lambda o: o["at"])["directive"]) if applied else ""


def _windows(now: datetime) -> tuple[MaintenanceWindow, ...]:
    """One that opens a while after the beginning of the hour and closes before its end."""
    start = now + timedelta(minutes=WINDOW_AFTER_MINUTES)
    return (MaintenanceWindow(WEEKDAYS, f"{start:%H:%M}", WINDOW_MINUTES),)


def _config(
    server: ScratchServer, url: str, folder: Path, mode: str, windows: tuple[MaintenanceWindow, ...]
) -> tuple[Config, bool]:
    """The agent's file, and whether it could name its own maintenance windows: an older agent's cannot.

    It allows every value that the server takes (`ranges`), so that memory, durability, windows and confirmation have to
    hold alone.
    """
    sections: dict[str, dict[str, Any]] = {
        "agent": {"mode": mode, "interval_s": INTERVAL_S, "memory_fraction": MEMORY_FRACTION, "ranges": "server"},
        "guard": {"confirm_s": CONFIRM_S, "memory": {"enabled": False}, "disk": {"enabled": False}},
    }
    made = document(server, url, folder / "state", mode, **sections)
    tables = [{"weekdays": list(w.weekdays), "start": w.start, "minutes": w.minutes} for w in windows]
    try:
        return parse({**made, "restart": {**made["restart"], "maintenance_windows": tables}}), True
    except ConfigError:
        return parse(made), False


def _afterwards(
    config: Config,
    service: Service,
    oracle: Oracle,
    traffic: Traffic,
    windows: tuple[MaintenanceWindow, ...],
    ended: datetime,
) -> list[str]:
    outcomes = list(service.outcomes.values())
    settings = {d["id"]: d["settings"] for d in service.liar.made}
    known: dict[str, set[Any]] = {n: {v} for n, v in oracle.initial.items()}
    for outcome in outcomes:
        if outcome["state"] == "applied" and outcome.get("confirm_by"):
            for name, value in outcome.get("active", {}).items():
                known.setdefault(name, set()).add(value)
    of_directives = (
        *hostile_oracle.late(config, outcomes, known, ended),
        *hostile_oracle.restarts_outside(outcomes, known, windows),
    )
    return [
        *hostile_oracle.unexplained(oracle.moments, outcomes, settings),
        *(_with_directive(story, service, settings) for story in of_directives),
        *traffic.not_guarded(service.outcomes),
        *(
            [f"{service.stray_tokens} requests brought the token to a redirect's target"]
            if service.stray_tokens
            else []
        ),
    ]


def _with_directive(story: str, service: Service, settings: dict[str, Any]) -> str:
    """A story about a directive, and what that directive asked for."""
    id_ = story.partition(" ")[0]
    return f"{story}; it was of the kind {service.kinds.get(id_, 'unknown')!r} and asked for {settings.get(id_)}"


def _by_kind(service: Service) -> dict[str, dict[str, int]]:
    """What agents answered, by the kind of the directive: states, and codes of refusals."""
    found: dict[str, Counter[str]] = {}
    for outcome in service.outcomes.values():
        kind = service.kinds.get(outcome["directive"], "unknown")
        found.setdefault(kind, Counter())[" ".join(filter(None, (outcome["state"], outcome.get("code"))))] += 1
    return {kind: dict(counted) for kind, counted in found.items()}
