"""A worse candidate is seen to be worse: by its scorecard on past sessions, and by its shadow beside what serves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from click.testing import CliRunner
from lutra_client.commands.program import main
from lutra_models.digest import fingerprint
from lutra_models.gp import playing
from lutra_service.app.jobs import model_jobs
from lutra_service.db.store import UnitOfWork
from lutra_service.workers import worker

from tests.support.service.hosted import Agent, Document, Service, fake_executor, running

pytestmark = pytest.mark.slow

FEW = {"everywhere": 32, "near": 32, "climbers": 1, "asked": 8, "shuffles": 1}
QUICK = {"surrogate": {"name": "numpy", "steps": 15}, "search": FEW}
ABSURD = {
    "surrogate": {"name": "numpy", "wary": {"shift": -9.0, "sigma": 0.01}, "noise_sigma": 0.01, "steps": 15},
    "search": FEW,
    "targets": {"noise": 3.0, "least_noise": 0.7},
}
"""Settings say nothing of each other, and readings nothing of themselves."""
TRIALS = (9, 7)
IN_PROCESS = fake_executor(worker)  # type: ignore[arg-type]


def gives(settings: Mapping[str, Any], trial: int) -> dict[str, float]:
    """A made-up server: memory helps, dear pages hurt, and two readings of the same differ by some percent."""
    memory = math.log2(float(settings["work_mem"]) / 64)
    qps = 500.0 * (1 + 0.2 * memory) * (1 - 0.05 * float(settings["random_page_cost"])) * (1 + 0.02 * (trial % 3 - 1))
    return {"qps": qps, "p99_ms": 9000.0 / qps}


def tuned(service: Service, name: str, trials: int, seed: int) -> str:
    """A session of so many trials on a database of its own; its id."""
    database = service.database(name)
    agent: Agent = service.agent(database)
    agent.send()
    body = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", "approval": "automatic", "seed": seed}
    session = service.take("POST", f"/v1/databases/{database}/sessions", {**body, "max_trials": trials})["id"]
    service.take("POST", f"/v1/databases/{database}/recommendations")
    for trial in range(trials):
        directive = agent.next_directive()
        values = {n: s.value for n, s in agent.settings.items()} | directive["settings"]
        agent.carry_out(directive, **gives(values, trial))
    return str(session)


@dataclass
class Fleet:
    service: Service
    plain: str
    absurd: str
    sessions: list[str]

    def model(self, id_: str) -> Document:
        found: Document = self.service.take("GET", f"/v1/models/{id_}")
        return found

    def scored(self, id_: str) -> Document:
        self.service.take("POST", f"/v1/models/{id_}/score")
        path = f"/v1/models/{id_}"
        done = self.service.until(path, lambda m: m["scoring"]["state"] != "waiting")
        assert done["scoring"]["state"] == "done", done["scoring"]
        card: Document = done["scorecard"]
        return card


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two databases tuned by a quick champion, the absurd candidate in its shadow; a session is played once."""
    folder = tmp_path_factory.mktemp("fleet")
    with pytest.MonkeyPatch.context() as patch, running(folder, executor=IN_PROCESS, workers=1) as service:
        patch.setattr(playing, "PLAYS", 1)
        made = {
            name: service.take("POST", "/v1/models", {"name": name, "options": options})["id"]
            for name, options in (("plain", QUICK), ("absurd", ABSURD))
        }
        service.take("POST", f"/v1/models/{made['plain']}/promote")
        service.take("PUT", f"/v1/models/{made['absurd']}/shadow")
        sessions = [tuned(service, f"shop{i}", trials, i) for i, trials in enumerate(TRIALS)]
        yield Fleet(service, made["plain"], made["absurd"], sessions)


def test_the_shadow_shows_that_it_is_worse_over_the_same_readings(fleet: Fleet) -> None:
    found = fleet.service.until(f"/v1/models/{fleet.absurd}", lambda m: m["in_shadow"] is not None)
    candidate, served = found["in_shadow"]["candidate"], found["in_shadow"]["served"]
    assert candidate["n"] == served["n"] >= sum(TRIALS)
    assert candidate["log_score"] < served["log_score"] - 0.2
    assert candidate["width_90"] > 1.5 * served["width_90"]
    assert fleet.model(fleet.plain)["in_shadow"] is None


def test_it_computed_nothing_of_what_was_recommended(fleet: Fleet) -> None:
    for session in fleet.sessions:
        database = fleet.service.take("GET", f"/v1/sessions/{session}")["database"]
        made = fleet.service.take("GET", f"/v1/databases/{database}/recommendations")["items"]
        assert {r["model"] for r in made if r["kind"] == "search"} == {fleet.plain}


def test_the_scorecard_shows_that_it_is_worse_on_past_sessions(fleet: Fleet) -> None:
    plain, absurd = fleet.scored(fleet.plain), fleet.scored(fleet.absurd)
    assert plain["sessions"] == absurd["sessions"] == 2
    assert plain["forecasts"] == absurd["forecasts"] > 0
    assert {row["session"] for row in plain["by_session"]} == set(fleet.sessions)
    assert plain["log_score"] > absurd["log_score"] + 0.2
    assert absurd["width_90"] > 1.5 * plain["width_90"]
    assert plain["leaning"] == 2
    assert plain["gain_from_past"]["log_score"] is not None
    data = [fleet.model(id_)["data"] for id_ in (fleet.plain, fleet.absurd)]
    assert data[0] == data[1]
    assert data[0]["trials"] >= sum(TRIALS)


def test_the_first_scorecard_grows_session_by_session_and_a_later_one_replaces_it_when_it_is_complete(
    fleet: Fleet,
) -> None:
    def grown(unit: UnitOfWork, id_: str) -> list[int]:
        """The sessions in the scorecard after each step of one computation."""
        job, seen = model_jobs.start(unit, id_), []
        while (task := model_jobs.prepare(unit, job.id)) is not None:
            unit.jobs.cancel([job.id])
            model_jobs.complete(unit, job.id, getattr(worker, task.name)(task.payload))
            seen.append((unit.models.get(id_).scorecard or {"sessions": 0})["sessions"])
        return seen

    made = fleet.service.take("POST", "/v1/models", {"name": "newer", "options": QUICK})["id"]
    first, later = (fleet.service.store.write(lambda unit: grown(unit, made)) for _ in range(2))
    assert first == [0, 1, 2]
    assert later == [2, 2, 2]


def test_every_version_is_scored_on_the_sessions_in_one_order(fleet: Fleet) -> None:
    def orders(unit: UnitOfWork) -> list[list[str]]:
        jobs = [unit.model_jobs.newest(id_) for id_ in (fleet.plain, fleet.absurd)]
        return [job.sessions for job in jobs if job is not None]

    assert fleet.service.store.read(orders) == [sorted(fleet.sessions, key=fingerprint)] * 2


def test_the_command_line_scores_too_and_shows_both_side_by_side(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTRA_DATABASE_URL", str(fleet.service.store._reader.url))
    monkeypatch.setattr(model_jobs, "POOL", replace(model_jobs.POOL, make=lambda _: IN_PROCESS()))
    before = fleet.model(fleet.absurd)["scorecard"]
    told = CliRunner().invoke(main, ["models", "score", fleet.absurd], catch_exceptions=False)
    assert told.exit_code == 0, told.output
    assert "2 of 2" in told.output
    assert fleet.model(fleet.absurd)["scorecard"] == before
    shown = CliRunner().invoke(main, ["models", "show", fleet.absurd], catch_exceptions=False).output
    assert "champion" in shown
    assert "log_score" in shown
