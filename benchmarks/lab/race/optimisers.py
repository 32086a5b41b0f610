"""Who races, as the race sees it: the next configuration and the finalist are functions of an optimiser's own rows."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from lutra_lab.servers.errors import LabError
from lutra_models.knobs import Configuration
from lutra_models.metrics import Goal
from lutra_models.serial import knob_to_dict

from benchmarks.lab.session import Row, Session
from benchmarks.tuning.rows import CODE

ROOT = Path(__file__).parents[3]
OURS = "lutra"
UNSHORTENED = "lutra_unshortened"
PEERS = ("random", "smac", "botorch")
NOISE = "default-again"
REFUSED = 20
"""A trial may follow upon so many configurations that the rules refuse; they are told, and cost no trial."""
OPTIMISERS = (OURS, *PEERS)


@dataclass(frozen=True)
class Asked:
    """A configuration to measure, and what a row says of where it comes from."""

    configuration: Configuration
    origin: str = "asked"


class Optimiser(Protocol):
    @property
    def version(self) -> str:
        """Rows of another version are not its own."""

    def ask(self, rows: Sequence[Row]) -> Asked:
        """What to measure after these trials, the default's first. Raises LabError."""

    def finalist(self, rows: Sequence[Row]) -> Configuration:
        """What it stands for after these trials."""


class Lutra:
    """The recommender; its rows name the version of its code."""

    version = CODE

    def __init__(self, session: Session) -> None:
        self._session = session

    def ask(self, rows: Sequence[Row]) -> Asked:
        found = self._session.recommend(rows)
        return Asked(found.configuration, found.origin)

    def finalist(self, rows: Sequence[Row]) -> Configuration:
        return self._session.handover(rows).configuration

    def unshortened(self, rows: Sequence[Row]) -> Configuration | None:
        """The configuration with more changes in whose place the finalist stands, where it does."""
        return self._session.handover(rows).simplified_from


class Again:
    """No optimiser: the default time and again, which shows the noise."""

    version = "built in"

    def __init__(self, session: Session) -> None:
        self._session = session

    def ask(self, rows: Sequence[Row]) -> Asked:
        return Asked(self._session.default, "default")

    def finalist(self, rows: Sequence[Row]) -> Configuration:
        return self._session.default


class Peer:
    """An optimiser in a process of another environment, told all rows that it has not been told yet.

    As a context manager: the process lives within. What has no reading is told as twice as bad as the worst that has.
    """

    def __init__(self, name: str, session: Session, budget: int, python: Path) -> None:
        self._session, self._told = session, 0
        self._asked: Configuration | None = None
        env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "models"))), "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.lab.race.peer"],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        problem = {
            "optimiser": name,
            "seed": session.seed,
            "budget": budget * (1 + REFUSED),
            "goal": session.study.objective.goal,
        }
        knobs = [knob_to_dict(k) for k in session.space]
        self._say({**problem, "knobs": knobs, "default": dict(session.default)})
        self.version: str = self._hear()["version"]

    def ask(self, rows: Sequence[Row]) -> Asked:
        while self._told < len(rows):
            before, row = rows[: self._told], rows[self._told]
            if self._told and self._next() != asked_for(row):
                raise LabError(f"{row['step']}: what was asked for is not asked for again: move its rows away")
            value = reading(row, self._session.study.objective.metric)
            bad = penalty([*before, row], self._session)
            self._say({"tell": dict(asked_for(row)), "value": bad if value is None else value})
            self._told += 1
        self._asked = self._next()
        return Asked(self._asked)

    def finalist(self, rows: Sequence[Row]) -> Configuration:
        return best(rows, self._session)

    def _next(self) -> Configuration:
        """What it asks for now; asking twice without telling would be two questions."""
        if self._asked is not None:
            asked, self._asked = self._asked, None
            return asked
        self._say({"ask": True})
        return Configuration(self._hear()["configuration"])

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def _say(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise LabError("the peer's process has ended; its last words are above") from error

    def _hear(self) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise LabError("the peer's process has ended; its last words are above")
        answer: Mapping[str, Any] = json.loads(line)
        return answer


def asked_for(row: Row) -> Configuration:
    """The row's configuration before the server made others of some values."""
    return Configuration(row["configuration"]).replace(row["asked"])


def reading(row: Row, metric: str) -> float | None:
    value: float | None = None if row["failure"] else row["metrics"].get(metric)
    return value


def penalty(rows: Sequence[Row], session: Session) -> float:
    """Twice as bad as the worst reading so far."""
    goal: Goal = session.study.objective.goal
    seen = [r for row in rows if (r := reading(row, session.study.objective.metric)) is not None]
    if not seen:
        raise LabError("not even the default gave a reading")
    return min(seen) / 2 if goal == "maximize" else max(seen) * 2


def best(rows: Sequence[Row], session: Session) -> Configuration:
    """The configuration of the best reading: all that a peer says of its trials."""
    objective = session.study.objective
    read = [(objective.gain(r), asked_for(row)) for row in rows if (r := reading(row, objective.metric)) is not None]
    return max(read, key=lambda pair: pair[0])[1] if read else session.default
