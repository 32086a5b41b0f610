"""`python -m benchmarks lab.intervals`: do the 90 % intervals hold what real servers then read?

Every session that the lab and its race have recorded is gone through again with the recommender of now: a model of the
trials so far is asked what the configuration of the next one reads.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import click
import numpy as np
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import AgentConfig, Config, RestartConfig, ServiceConfig
from lutra_agent.runtime.compose import local_database
from lutra_models import gp
from lutra_models.history import History
from lutra_models.knobs import KnobSpace
from lutra_models.server import Server

from benchmarks.lab.data import database_of
from benchmarks.lab.labs import LABS, Lab
from benchmarks.lab.race import loads, summary
from benchmarks.lab.race.optimisers import OPTIMISERS
from benchmarks.lab.race.run import RESULTS as RACE
from benchmarks.lab.report import FORECASTS
from benchmarks.lab.run import RESULTS
from benchmarks.lab.session import TARGETS, Row, Session, observation, trials
from benchmarks.lab.studies import STUDIES, Study
from benchmarks.lab.summary import held
from benchmarks.tuning.rows import CODE, read

FOUND = RESULTS / FORECASTS
FIRST = 3
"""Trials from which a model is asked."""
LEVEL = 0.9
DATA_IN = Path("/var/tmp")
_LABS: Mapping[str, Lab] = {**LABS, **loads.ENGINES}


@dataclass(frozen=True)
class Recorded:
    """A session's trials, and the first row of their file."""

    name: str
    study: Study
    about: Row
    trials: Sequence[Row]


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=FOUND, show_default=True)
def main(out: Path) -> None:
    """Predict each recorded trial from those before it, and keep prediction and reading beside each other.

    Starts each engine for a moment, to learn its settings. Takes some two minutes. The lab's report shows the result.
    """
    lines = []
    for session in recorded():
        found = list(forecasts(session, server_of(session.study.engine)))
        lines += [json.dumps(row) for row in found]
        click.echo(f"{session.name}: {held(found)} of {len(found)} inside")
    out.write_text("\n".join(lines) + "\n")


def recorded(results: Path = RESULTS, race: Path = RACE) -> Iterator[Recorded]:
    """The lab's studies, then what the race's optimisers tried."""
    for study in STUDIES:
        if rows := read(results / f"{study.name}.jsonl"):
            yield Recorded(study.name, study, rows[0], trials(rows))
    for contest in loads.CONTESTS:
        study = Study(contest.engine, contest.load, contest.objective, durable=True)
        for optimiser in OPTIMISERS:
            rows = read(race / contest.name / f"{optimiser}.jsonl")
            if tried := summary.tried(rows):
                yield Recorded(f"{contest.name}, {optimiser}", study, rows[0], tried)


def forecasts(recorded: Recorded, server: Server) -> Iterator[Row]:
    """(prediction, reading) of each metric in each trial from `FIRST` on that gave one.

    A setting that was searched then and is not now is left out: it adds to what the model cannot know.
    """
    host = replace(server.host, memory_bytes=recorded.about["host"]["memory_bytes"])
    session = Session(recorded.study, replace(server, host=host), {})
    names = set.intersection(*(set(row["configuration"]) for row in recorded.trials))
    space = KnobSpace([knob for knob in session.space if knob.name in names])
    rows = [{**row, "configuration": space.normalise(_known(row, space))} for row in recorded.trials]
    seen = [observation(row) for row in rows]
    for n in range(FIRST, len(seen)):
        history = History(
            space, recorded.study.objective, observations=seen[:n], current=seen[n - 1].configuration, limits=()
        )
        model = gp.fit(history, (), rng=np.random.default_rng([0, n]))
        if not model.predicts:
            continue
        told = model.predict([seen[n].configuration], LEVEL)[0]
        for metric in (m for m in TARGETS if m in told and m in seen[n].metrics):
            p = told[metric]
            ends = {"median": p.median, "low": p.low, "high": p.high, "measured": seen[n].metrics[metric]}
            rounded = {name: float(f"{value:.5g}") for name, value in ends.items()}
            yield {"session": recorded.name, "known": n, "metric": metric, **rounded, "code": CODE}


def _known(row: Row, space: KnobSpace) -> Row:
    return {name: row["configuration"][name] for name in space.names}


@cache
def server_of(engine: str) -> Server:
    """The engine's server as the lab starts it, on this host. Raises LabError."""
    lab = _LABS[engine]
    with tempfile.TemporaryDirectory(dir=DATA_IN) as folder:
        Path(folder).chmod(0o755)
        with lab.make(Path(folder) / "server", lab.options) as server:
            nothing = ("true",)
            restart = RestartConfig(command=nothing, start_command=nothing, data_dir=server.data_dir)
            agent = AgentConfig(Path(folder) / "agent", mode="lab", ranges="catalogue")
            service = ServiceConfig("http://127.0.0.1", "lab")
            database = local_database(Config(service, database_of(server), agent, restart), SystemClock())
            try:
                return database.read_server()
            finally:
                database.engine.health.close()


if __name__ == "__main__":
    main(prog_name="python -m benchmarks lab.intervals")
