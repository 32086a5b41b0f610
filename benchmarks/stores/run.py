"""One study, step by step; every step's row is on disk before the next begins."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

from lutra_lab.servers.errors import LabError
from lutra_models.knobs import Configuration, KnobSpace
from lutra_models.metrics import Limit
from lutra_models.server import Policy

from benchmarks.lab.run import differences
from benchmarks.lab.session import Row, Session
from benchmarks.lab.studies import P99
from benchmarks.lab.studies import Study as Objectives
from benchmarks.stores.place import Store, driver_of, opened
from benchmarks.stores.servers import KINDS
from benchmarks.stores.studies import Study
from benchmarks.tuning.rows import CODE, Results, read

RESULTS = Path(__file__).parent / "results"
FOLDER = Path("/var/tmp/lutra-stores")
"""On a disk, and no memory file system."""


@dataclass(frozen=True)
class Plan:
    trials: int = 8
    rounds: int = 4
    duration_s: float = 15.0


@dataclass(frozen=True)
class Tuning(Session):
    """A session under `allowed`, over the server as it was found."""

    allowed: Policy = field(default_factory=Policy)
    rate: float = 0.0

    @property
    def policy(self) -> Policy:
        return self.allowed

    def limits(self, rows: Sequence[Row]) -> tuple[Limit, ...]:
        """Clients at a rate get what they ask for: p99 has the wait for it."""
        return () if self.rate else super().limits(rows)


@dataclass(frozen=True)
class Course:
    study: Study
    place: Store
    plan: Plan
    seed: int

    @cached_property
    def sessions(self) -> Mapping[str, Tuning]:
        server, context = self.place.look(), self.place.context
        study = Objectives(self.study.engine, KINDS[self.study.engine].workload, P99, durable=True)
        made = partial(Tuning, study, server, context, self.seed, rate=self.study.rate)
        return {name: made(allowed=policy) for name, policy in self.study.policies.items()}

    @cached_property
    def all(self) -> KnobSpace:
        """Whatever any entrant moves: each is measured with all of it as it was found, but for its own."""
        names = {name for s in self.sessions.values() for name in s.space.names}
        names |= {name for settings in self.study.by_hand.values() for name in settings}
        session = next(iter(self.sessions.values()))
        return session.live.space(Policy(movable=frozenset(names), durability=True, host=True))

    @cached_property
    def default(self) -> Configuration:
        """Taken while the server is as it was found."""
        live = next(iter(self.sessions.values())).live
        return self.all.normalise(live.values)

    def entrant(self, name: str, rows: Sequence[Row]) -> Configuration:
        if name in self.sessions:
            return self.default.replace(self.sessions[name].handover(_of(rows, name)).configuration)
        return self.default.replace(self.study.by_hand.get(name, {}))


def run(study: Study, plan: Plan, results: Path = RESULTS, folder: Path = FOLDER, seed: int = 0) -> Iterator[str]:
    """Go on where the file ends, and yield a line of progress per step. Raises LabError."""
    path = results / f"{study.name}.jsonl"
    rows, file = read(path), Results(path, ("step",))
    todo = remaining(study, plan, rows)
    if not todo:
        yield f"{study.name}: complete"
        return
    with opened(study, folder / study.name, driver_of(study, plan.duration_s)) as place:
        course = Course(study, place, plan, seed)
        _ = course.default
        now = about(course)
        if not rows:
            file.add(now)
        elif changed := differences(rows[0], now):
            raise LabError(f"{path} was begun otherwise ({changed}): take its options again, or move it away")
        for kind, name, number in todo:
            row = measured(course, kind, name, number, rows)
            file.add(row)
            rows.append(row)
            yield f"{study.name}: {row['step']}: {told(row)}"


def remaining(study: Study, plan: Plan, rows: Sequence[Row]) -> list[tuple[str, str, int]]:
    """Trials first; then all entrants in turns, every other round backwards, so that a slow drift favours nobody."""
    steps = [("trial", name, n) for name in study.policies for n in range(1, plan.trials + 1)]
    for number in range(1, plan.rounds + 1):
        entrants = study.entrants if number % 2 else study.entrants[::-1]
        steps += [("round", name, number) for name in entrants]
    done = {row["step"] for row in rows}
    return [step for step in steps if _named(*step) not in done]


def measured(course: Course, kind: str, name: str, number: int, rows: Sequence[Row]) -> Row:
    started, began = datetime.now(UTC), time.monotonic()
    if kind == "trial":
        found = course.sessions[name].recommend(_of(rows, name))
        wanted, origin = course.default.replace(found.configuration), str(found.origin)
    else:
        wanted, origin = course.entrant(name, rows), "round"
    reading = course.place.measured(wanted, course.study.preloaded.get(name))
    moved = {n: v for n, v in reading.active.items() if v != course.default[n]}
    own = course.sessions[name].space.names if kind == "trial" else reading.active
    return {
        "step": _named(kind, name, number),
        "kind": kind,
        "entrant": name,
        "number": number,
        "origin": origin,
        "metrics": {n: float(f"{v:.6g}") for n, v in reading.metrics.items()},
        "failure": reading.failure,
        "configuration": {n: v for n, v in reading.active.items() if n in own},
        "asked": {n: v for n, v in wanted.items() if n in own and reading.active[n] != v},
        "moved": moved,
        "code": CODE,
        "seconds": round(time.monotonic() - began, 1),
        "at": started.isoformat(timespec="seconds"),
    }


def about(course: Course) -> Row:
    """The first row: what everything else was measured on."""
    study, server = course.study, course.place.look()
    return {
        "step": "about",
        "kind": "about",
        "study": study.name,
        "version": server.version,
        "host": asdict(server.host),
        "spaces": {name: session.space.fingerprint for name, session in course.sessions.items()},
        "options": dict(study.options),
        "kernel": dict(study.kernel),
        "limits": asdict(study.limits),
        "keys": study.size,
        "warmup_s": study.warmup_s,
        "duration_s": course.plan.duration_s,
        "seed": course.seed,
    }


def told(row: Row) -> str:
    if row["failure"]:
        return str(row["failure"]).splitlines()[0][:160]
    m = row["metrics"]
    figures = f"{m['qps']:,.0f} qps, p99 {m['p99_ms']:.2f} ms, peak {m['peak_memory_bytes'] / 2**30:.2f} GiB"
    return f"{figures}; moved {row['moved'] or 'nothing'} ({row['seconds']:.0f} s)"


def _of(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row["kind"] == "trial" and row["entrant"] == name]


def _named(kind: str, name: str, number: int) -> str:
    return f"{kind} {number}, {name}"
