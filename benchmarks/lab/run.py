"""One study, step by step; every step's row is on disk before the next begins."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lutra_lab.servers.errors import LabError
from lutra_models.advice import Recommendation
from lutra_models.knobs import Configuration

from benchmarks.lab.data import Setting, template
from benchmarks.lab.labs import LABS
from benchmarks.lab.place import Place, opened
from benchmarks.lab.session import TARGETS, Row, Session, trials
from benchmarks.lab.steps import Plan, Step, remaining
from benchmarks.lab.studies import FEW, Study
from benchmarks.tuning.rows import CODE, Results, read

RESULTS = Path(__file__).parent / "results"


def run(study: Study, plan: Plan, setting: Setting, results: Path = RESULTS, seed: int = 0) -> Iterator[str]:
    """Go on where the file ends, and yield a line of progress per step. Raises LabError."""
    path = results / f"{study.name}.jsonl"
    rows = read(path)
    todo = remaining(plan, rows)
    if not todo:
        yield f"{study.name}: complete"
        return
    file = Results(path, ("step",))
    data = template(study.engine, setting)
    with opened(study.name, LABS[study.engine], data, setting) as place:
        session = Session(study, place.look(), place.context(study.workload, FEW), seed)
        now = about(session, setting)
        if not rows:
            file.add(now)
        elif changed := differences(rows[0], now):
            raise LabError(f"{path} was begun otherwise ({changed}): take its options again, or move it away")
        took: list[float] = []
        for left, step in zip(range(len(todo) - 1, -1, -1), todo, strict=True):
            started = time.monotonic()
            row = measured(study, step, session, place, rows)
            file.add(row)
            rows.append(row)
            took.append(time.monotonic() - started)
            yield line(study, plan, row, rows, left * sum(took) / len(took))


def measured(study: Study, step: Step, session: Session, place: Place, rows: list[Row]) -> Row:
    started = datetime.now(UTC)
    configuration, more = chosen(step, session, trials(r for r in rows if "kind" in r))
    computed_s = (datetime.now(UTC) - started).total_seconds()
    # The start by the manual may be above the limit in the worst case; people who set it are not stopped either.
    reading = place.measured(configuration, study.workload, step.threads, restore=step.kind == "final")
    asked = {n: v for n, v in configuration.items() if reading.active[n] != v}
    return {
        "step": step.name,
        "kind": step.kind,
        "number": step.number,
        "threads": step.threads,
        "entrant": step.entrant,
        **more,
        "metrics": {n: float(f"{v:.6g}") for n, v in reading.metrics.items()},
        "failure": reading.failure,
        "configuration": dict(reading.active),
        "asked": asked,
        "code": CODE,
        "computed_s": round(computed_s, 2),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 1),
        "at": started.isoformat(timespec="seconds"),
    }


def chosen(step: Step, session: Session, seen: list[Row]) -> tuple[Configuration, dict[str, Any]]:
    """The configuration, and what a row says of where it comes from."""
    if step.kind == "final":
        return session.entrant(step.entrant, seen), {"origin": "final", "predictions": {}}
    found: Recommendation = session.recommend(seen)
    predictions = {n: asdict(found.predictions[n]) for n in TARGETS if n in found.predictions}
    return found.configuration, {"origin": found.origin, "predictions": predictions}


def about(session: Session, setting: Setting) -> Row:
    """The first row: what everything else was measured on."""
    return {
        "step": "about",
        "kind": "about",
        "study": session.study.name,
        "version": session.server.version,
        "host": asdict(session.server.host),
        "space": session.space.fingerprint,
        "knobs": len(session.space),
        "limits": asdict(setting.limits),
        "size": asdict(setting.size),
        "warmup_s": setting.warmup_s,
        "duration_s": setting.duration_s,
        "seed": session.seed,
    }


def differences(then: Row, now: Row) -> str:
    """In words, what would make rows of one study incomparable; empty where nothing would."""
    plain = {n: json.loads(json.dumps(v)) for n, v in now.items()}
    apart = (n for n in plain if n != "host" and then.get(n) != plain[n])
    return ", ".join(f"{n} was {then.get(n)}, is {plain[n]}" for n in apart)


def line(study: Study, plan: Plan, row: Row, rows: list[Row], left_s: float) -> str:
    """ "mariadb-…: trial 7 of 20 (improvement): 1,234 qps, p99 56.8 ms; best 1,300; 0:42 left"."""
    total = f" of {plan.trials}" if row["kind"] == "trial" else ""
    said = row["failure"] or figures(row["metrics"])
    found = [gained for r in rows if (gained := _reading(study, r)) is not None]
    best = max(found, key=study.objective.gain, default=None)
    best_text = "" if best is None else f"; best {best:,.4g}"
    hours, minutes = divmod(round(left_s / 60), 60)
    where = f"{study.name}: {row['step']}{total} ({row['origin']})"
    return f"{where}: {said}{best_text}; {hours}:{minutes:02} left"


def figures(metrics: Mapping[str, float]) -> str:
    return f"{metrics['qps']:,.0f} qps, p99 {metrics['p99_ms']:,.1f} ms"


def _reading(study: Study, row: Row) -> float | None:
    metrics: Mapping[str, float] = row.get("metrics", {})
    return metrics.get(study.objective.metric)
