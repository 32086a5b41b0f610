"""The race on one server and load, measurement by measurement; every row is on disk before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from lutra_lab.servers.errors import LabError
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.knobs import Configuration
from lutra_models.server import Server

from benchmarks.lab import run as studies
from benchmarks.lab.data import Setting, made
from benchmarks.lab.labs import Lab
from benchmarks.lab.place import Place, Reading, Refused, opened
from benchmarks.lab.race import finals, loads, summary, tools
from benchmarks.lab.race.loads import Contest
from benchmarks.lab.race.optimisers import (
    NOISE,
    OPTIMISERS,
    OURS,
    REFUSED,
    UNSHORTENED,
    Again,
    Asked,
    Lutra,
    Optimiser,
    Peer,
)
from benchmarks.lab.session import Row, Session
from benchmarks.lab.studies import Study
from benchmarks.tuning.rows import Results, read

RESULTS = Path(__file__).parent / "results"
WITHIN = "tps_"
WITHIN_US: Mapping[str, Callable[[Session], Optimiser]] = {OURS: Lutra, NOISE: Again}


@dataclass(frozen=True)
class Plan:
    """The finalists' windows may be longer than those of the trials."""

    trials: int = 25
    rounds: int = 3
    seed: int = 0
    final_warmup_s: int = 35
    final_duration_s: int = 40


@dataclass(frozen=True)
class Course:
    """Where a contest happens, and what everybody is asked about there."""

    contest: Contest
    session: Session
    place: Place
    data: Path
    setting: Setting

    def measured(self, configuration: Configuration, clients: int) -> Reading:
        """From a fresh copy of the data; what the rules refuse is not measured. Raises LabError."""
        refusal = self.session.space.refusal(configuration)
        if refusal is not None:
            return Reading(configuration, {}, f"refused: {refusal.message}")
        try:
            if self.contest.writes:
                self.place.renew(self.data)
            return self.place.measured(configuration, self.contest.load, clients)
        except Refused as error:
            return Reading(configuration, {}, f"refused: {error}")

    def about(self, version: str) -> Row:
        """The first row of a file: what everything else was measured on, and by which version of an optimiser."""
        told = studies.about(self.session, self.setting)
        del told["size"]
        return {**told, "data": self.contest.data, "clients": self.contest.clients, "code": version}


def session(contest: Contest, server: Server, seed: int) -> Session:
    """`server` at its default."""
    study = Study(contest.engine, contest.load, contest.objective, durable=True)
    return Session(study, server, {"driver": "go-tpc", "load": contest.load, "clients": contest.clients}, seed)


def taught(contest: Contest, session: Session, results: Path) -> tuple[Snapshot, ...]:
    """What Lutra's trials taught in the contest that this one is like. Raises LabError where it has none there."""
    if contest.like is None:
        return ()
    path = results / contest.like / f"{OURS}.jsonl"
    rows = read(path)
    tried_there = summary.tried(rows)
    if not tried_there:
        begins = f"{contest.name} begins with what {contest.like} taught"
        raise LabError(f"{begins}, and {path} has no trials: run that first")
    there, server = rows[0], session.server
    host = replace(server.host, memory_bytes=there["limits"]["memory_bytes"])
    context = {**session.context, "clients": there["clients"]}
    return (replace(session, server=replace(server, host=host), context=context).taught(tried_there),)


def run(
    contest: Contest,
    optimisers: Sequence[str],
    plan: Plan,
    setting: Setting,
    python: Path,
    results: Path = RESULTS,
) -> Iterator[str]:
    """The trials of `optimisers`, then the rounds of all who have finished; a line of progress a row.

    Raises LabError.
    """
    lab: Lab = loads.lab(contest, tools.go_tpc(setting.folder))
    data = made(lab, contest.data, setting)

    def begun(place: Place, span: Setting) -> Course:  # while the server is at its default
        own = session(contest, place.look(), plan.seed)
        return Course(contest, replace(own, past=taught(contest, own, results)), place, data, span)

    if optimisers:
        with opened(f"race-{contest.name}", lab, data, setting) as place:
            course = begun(place, setting)
            for name in optimisers:
                with made_of(name, course.session, plan, python) as optimiser:
                    yield from trials(course, name, optimiser, plan, results / contest.name / f"{name}.jsonl")
    if plan.rounds:
        span = replace(setting, warmup_s=plan.final_warmup_s, duration_s=plan.final_duration_s)
        with opened(f"race-{contest.name}", lab, data, span) as place:
            course = begun(place, span)
            found = finalists(course.session, plan, python, results / contest.name)
            yield from rounds(course, found, plan, results / contest.name / "finals.jsonl")


def finalists(session: Session, plan: Plan, python: Path, folder: Path) -> dict[str, Configuration]:
    """The starts, and what each optimiser stands for that has spent all its trials.

    Beside what Lutra hands over stands what that was shortened from: it shows what the fewer changes cost.
    """
    found = {"default": session.default, "rule_based": session.rule_based}
    for name in OPTIMISERS:
        path = folder / f"{name}.jsonl"
        if path.exists():
            with made_of(name, session, plan, python) as optimiser:
                rows = own(path, optimiser.version)
                if tried(rows) < plan.trials:
                    continue
                found[name] = optimiser.finalist(rows)
                if isinstance(optimiser, Lutra) and (whole := optimiser.unshortened(rows)) is not None:
                    found[UNSHORTENED] = whole
    return found


def made_of(name: str, session: Session, plan: Plan, python: Path) -> AbstractContextManager[Optimiser]:
    """A peer's process lives within, and not longer than the groups of the place."""
    if name in WITHIN_US:
        return nullcontext(WITHIN_US[name](session))
    return Peer(name, session, plan.trials, python)


def own(path: Path, version: str) -> list[Row]:
    """All that an optimiser of this version asked for, in order: its trials, and what the rules refused."""
    return [row for row in read(path) if row["kind"] in ("trial", "refused") and row["code"] == version]


def tried(rows: Sequence[Row]) -> int:
    return sum(row["kind"] == "trial" for row in rows)


def trials(course: Course, name: str, optimiser: Optimiser, plan: Plan, path: Path) -> Iterator[str]:
    """Go on where the file ends."""
    file = Results(path, ("step", "code"))
    _same(path, file, course.about(optimiser.version))
    rows = own(path, optimiser.version)
    while (done := tried(rows)) < plan.trials:
        started = time.monotonic()
        asked = optimiser.ask(rows) if rows else Asked(course.session.default, "default")
        more = {"optimiser": name, "origin": asked.origin, "computed_s": round(time.monotonic() - started, 2)}
        since = 0 if not rows else len(rows) - 1 - max(i for i, row in enumerate(rows) if row["kind"] == "trial")
        refusal = course.session.space.refusal(asked.configuration)
        if refusal is not None and since < REFUSED:
            row = refused(f"refused {len(rows) - done + 1}", asked.configuration, refusal.message)
            kind = {"kind": "refused"}
        else:
            row = measured(course, f"trial {done + 1}", asked.configuration, course.contest.clients, started)
            kind = {"kind": "trial"}
        rows.append({**row, **kind, "number": done + 1, **more, "code": optimiser.version})
        file.add(rows[-1])
        yield f"{course.contest.name}, {name}, {row['step']} of {plan.trials}: {told(rows[-1])}"


def refused(step: str, configuration: Configuration, message: str) -> Row:
    """What a rule of the catalogue is against; nothing is measured."""
    known = {"step": step, "metrics": {}, "within": [], "failure": f"refused: {message}"}
    return {**known, "configuration": dict(configuration), "asked": {}, "seconds": 0.0}


def rounds(course: Course, finalists: Mapping[str, Configuration], plan: Plan, path: Path) -> Iterator[str]:
    """Every finalist in turns; a field that has changed begins anew."""
    now = finals.field(finalists)
    file = Results(path, ("step", "field"))
    _same(path, file, course.about("finals"))
    for turn in finals.remaining(course.contest, list(finalists), plan.rounds, read(path), now):
        row = measured(course, turn.step, finalists[turn.entrant], turn.clients, time.monotonic())
        row |= {"kind": "final", "field": now, "at_clients": turn.at, "round": turn.round, "entrant": turn.entrant}
        file.add(row)
        yield f"{course.contest.name}, {turn.step}: {told(row)}"


def measured(course: Course, step: str, configuration: Configuration, clients: int, started: float) -> Row:
    """`started` is when the trial began, by the monotonic clock: asking is part of it."""
    at = datetime.now(UTC)
    reading = course.measured(configuration, clients)
    within = {n: v for n, v in reading.metrics.items() if n.startswith(WITHIN)}
    return {
        "step": step,
        "clients": clients,
        "metrics": {n: float(f"{v:.6g}") for n, v in reading.metrics.items() if n not in within},
        "within": [float(f"{within[n]:.6g}") for n in sorted(within, key=lambda n: int(n.removeprefix(WITHIN)))],
        "failure": reading.failure,
        "configuration": dict(reading.active),
        "asked": {n: v for n, v in configuration.items() if reading.active[n] != v},
        "seconds": round(time.monotonic() - started, 1),
        "at": at.isoformat(timespec="seconds"),
    }


def told(row: Row) -> str:
    """ "812 tps, p99 90.1 ms (61 s)"."""
    if row["failure"]:
        return str(row["failure"]).splitlines()[0][:160]
    metrics = row["metrics"]
    rate = f"{metrics['tps']:,.5g} tps" if "tps" in metrics else f"{metrics['pass_s']:,.1f} s a pass"
    return f"{rate}, p99 {metrics['p99_ms']:,.1f} ms ({row['seconds']:.0f} s)"


def _same(path: Path, file: Results, now: Row) -> None:
    """Begin the file, or check that it was begun alike; the version alone may be another. Raises LabError."""
    then = next((row for row in read(path) if row["kind"] == "about"), None)
    if then is None:
        file.add(now)
    elif changed := studies.differences({**then, "code": now["code"]}, now):
        raise LabError(f"{path} was begun otherwise ({changed}): take its options again, or move it away")
