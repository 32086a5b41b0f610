"""The race over a place that answers at once: what it costs to be interrupted, and who is told what."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from lutra_lab.servers.errors import LabError
from lutra_models.advice import Recommendation
from lutra_models.knobs import Configuration, Knob

from benchmarks.lab.data import Setting
from benchmarks.lab.place import Place, Reading, Refused
from benchmarks.lab.race import finals, run
from benchmarks.lab.race.loads import Contest, named
from benchmarks.lab.race.optimisers import Again, Asked, Lutra, Peer, asked_for, best, penalty
from benchmarks.lab.race.peer import inside
from benchmarks.lab.race.run import Course, Plan
from benchmarks.lab.session import Row, Session
from benchmarks.tuning import cube
from benchmarks.tuning.rows import read
from tests.support.reported.postgresql import a_server

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

CONTEST = named("tpcc-postgresql")
SERVER = a_server("15", 3, 2, rotational=True)
SETTING = Setting(Path("/nowhere"))


class FakePlace:
    """Reads more the larger the log may grow, and keeps what it was asked."""

    def __init__(self, *, fails: bool = False, refuses: bool = False) -> None:
        self.asked: list[tuple[Configuration, int]] = []
        self.renewed = 0
        self.fails, self.refuses = fails, refuses

    def renew(self, _data: Path) -> None:
        self.renewed += 1

    def measured(self, configuration: Configuration, _load: str, clients: int) -> Reading:
        self.asked.append((configuration, clients))
        if self.refuses:
            raise Refused("memory_budget_exceeded: too much")
        if self.fails:
            return Reading(configuration, {}, "did_not_start: exit 1")
        tps = float(configuration["max_wal_size"])
        return Reading(configuration, {"tps": tps, "p99_ms": 50.0, "tps_10": 2.0, "tps_2": 1.0})


def a_course(place: FakePlace | None = None, contest: Contest = CONTEST) -> Course:
    session = run.session(contest, SERVER, 0)
    return Course(contest, session, cast("Place", place or FakePlace()), Path("/nowhere/data"), SETTING)


class Drawn:
    """Asks for a point drawn anew for each number of rows, as random search would."""

    version = "drawn"

    def __init__(self) -> None:
        self._space = a_course().session.space

    def ask(self, rows: Sequence[Row]) -> Asked:
        knobs = self._space.knobs
        drawn = cube.from_unit(knobs, np.random.default_rng(len(rows)).random((1, len(knobs))))
        return Asked(Configuration({k.name: inside(k, v) for k, v in zip(knobs, _values(knobs, drawn), strict=True)}))

    def finalist(self, rows: Sequence[Row]) -> Configuration:
        return best(rows, a_course().session)


def _values(knobs: Sequence[Knob], drawn: np.ndarray) -> list[Any]:
    return list(cube.configurations(knobs, drawn)[0].values())


def a_peer(session: Session) -> Peer:
    """A process of its own, in this environment: random search needs no packages."""
    return Peer("random", session, 4, Path(sys.executable))


def trials(course: Course, peer: Any, trials: int, path: Path) -> list[Row]:
    for _ in run.trials(course, "random", peer, Plan(trials=trials), path):
        pass
    return [row for row in read(path) if row["kind"] == "trial"]


def test_everybody_begins_with_the_default(tmp_path: Path) -> None:
    place = FakePlace()
    rows = trials(a_course(place), Drawn(), 2, tmp_path / "random.jsonl")
    assert [row["origin"] for row in rows] == ["default", "asked"]
    assert place.asked[0] == (a_course().session.default, CONTEST.clients)
    assert place.renewed == 2


def test_an_interrupted_race_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """The peer's process is another one after the interruption, and is told its rows."""
    with a_peer(a_course().session) as peer:
        trials(a_course(), peer, 2, tmp_path / "broken.jsonl")
        whole = tmp_path / "whole.jsonl"
        whole.write_text((tmp_path / "broken.jsonl").read_text())
        expected = trials(a_course(), peer, 4, whole)
    with a_peer(a_course().session) as another:
        found = trials(a_course(), another, 4, tmp_path / "broken.jsonl")
        assert {row["code"] for row in found} == {another.version} == {"built in"}
    assert [row["configuration"] for row in found] == [row["configuration"] for row in expected]


def test_a_peer_that_asks_otherwise_than_its_rows_say_is_not_believed() -> None:
    session = a_course().session
    row = run.measured(a_course(), "trial 1", session.default, 16, 0.0)
    with a_peer(session) as peer, pytest.raises(LabError, match="trial 2: what was asked for is not asked for again"):
        peer.ask([row, {**row, "step": "trial 2"}])


def test_what_the_rules_refuse_is_kept_and_told_and_costs_no_trial(tmp_path: Path) -> None:
    place = FakePlace()
    trials(a_course(place), Drawn(), 4, tmp_path / "random.jsonl")
    rows = run.own(tmp_path / "random.jsonl", Drawn.version)
    assert len(place.asked) == run.tried(rows) == 4
    refused = [row for row in rows if row["kind"] == "refused"]
    assert refused
    assert all(row["failure"].startswith("refused: ") for row in refused)
    assert len({row["step"] for row in rows}) == len(rows)


def test_after_many_refusals_in_a_row_one_is_a_trial(tmp_path: Path) -> None:
    course = a_course()
    greedy = course.session.default.replace({"shared_buffers": 10**9})

    class Stubborn(Again):
        def ask(self, rows: Any) -> Asked:
            return Asked(greedy)

    for _ in run.trials(course, "x", Stubborn(course.session), Plan(trials=2), tmp_path / "x.jsonl"):
        pass
    kinds = [row["kind"] for row in run.own(tmp_path / "x.jsonl", Again.version)]
    assert kinds == ["trial", *["refused"] * 20, "trial"]


def test_what_the_agent_refuses_is_a_failed_trial() -> None:
    reading = a_course(FakePlace(refuses=True)).measured(a_course().session.default, 16)
    assert reading.failure == "refused: memory_budget_exceeded: too much"


def test_rows_of_another_version_of_the_recommender_are_not_its_own(tmp_path: Path) -> None:
    path = tmp_path / "lutra.jsonl"
    lutra = Lutra(a_course().session)
    old = Lutra(a_course().session)
    old.version = "older"
    trials(a_course(), old, 2, path)
    assert len(run.own(path, "older")) == 2
    assert run.own(path, lutra.version) == []
    trials(a_course(), lutra, 2, path)
    assert [len(run.own(path, version)) for version in ("older", lutra.version)] == [2, 2]


def test_a_file_is_not_continued_under_other_conditions(tmp_path: Path) -> None:
    path = tmp_path / "random.jsonl"
    trials(a_course(), Drawn(), 2, path)
    course = a_course()
    other = Course(course.contest, course.session, course.place, course.data, Setting(Path("/nowhere"), duration_s=5))
    with pytest.raises(LabError, match="duration_s was 40, is 5"):
        trials(other, Drawn(), 3, path)


def test_a_failure_is_told_as_twice_as_bad_as_the_worst() -> None:
    session = a_course().session
    rows = [{"failure": None, "metrics": {"tps": 90.0}}, {"failure": None, "metrics": {"tps": 80.0}}]
    assert penalty([*rows, {"failure": "did_not_start", "metrics": {}}], session) == 40.0


def test_a_peers_finalist_is_its_best_reading_as_it_was_asked_for() -> None:
    session = a_course().session
    rows = [
        {"failure": None, "metrics": {"tps": 90.0}, "configuration": {"a": 1}, "asked": {}},
        {"failure": None, "metrics": {"tps": 95.0}, "configuration": {"a": 2}, "asked": {"a": 3}},
        {"failure": "did_not_start", "metrics": {}, "configuration": {"a": 4}, "asked": {}},
    ]
    assert best(rows, session) == {"a": 3}
    assert asked_for(rows[0]) == {"a": 1}


def test_intervals_are_kept_in_their_order() -> None:
    row = run.measured(a_course(), "trial 1", a_course().session.default, 16, 0.0)
    assert row["within"] == [1.0, 2.0]
    assert set(row["metrics"]) == {"tps", "p99_ms"}


def test_a_failed_trial_is_a_row_without_a_reading() -> None:
    row = run.measured(a_course(FakePlace(fails=True)), "trial 1", a_course().session.default, 16, 0.0)
    assert (row["metrics"], row["failure"]) == ({}, "did_not_start: exit 1")


def test_finalists_meet_in_turns_and_every_other_round_goes_backwards() -> None:
    turns = list(finals.turns(CONTEST, ["a", "b"], 2))
    assert [(t.entrant, t.clients) for t in turns[:4]] == [("a", 16), ("b", 16), ("b", 16), ("a", 16)]
    assert {t.clients for t in turns} == {8, 16, 32}


def test_a_field_that_has_changed_is_measured_anew(tmp_path: Path) -> None:
    course, path = a_course(), tmp_path / "finals.jsonl"
    both = {"default": course.session.default, "rule_based": course.session.rule_based}
    assert len(list(run.rounds(course, both, Plan(rounds=1), path))) == 6
    assert list(run.rounds(course, both, Plan(rounds=1), path)) == []
    more = {**both, "random": course.session.default}
    assert len(list(run.rounds(course, more, Plan(rounds=1), path))) == 9


def test_only_who_has_spent_all_trials_is_a_finalist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = a_course()
    trials(course, Drawn(), 3, tmp_path / "random.jsonl")
    trials(course, Drawn(), 2, tmp_path / "smac.jsonl")
    monkeypatch.setattr(run, "made_of", lambda *_: nullcontext(Drawn()))
    found = run.finalists(course.session, Plan(trials=3), Path(sys.executable), tmp_path)
    assert list(found) == ["default", "rule_based", "random"]
    read_best = max(run.own(tmp_path / "random.jsonl", "drawn"), key=lambda row: row["metrics"].get("tps", 0))
    assert found["random"] == read_best["configuration"]


def test_beside_a_shortened_handover_stands_what_it_was_shortened_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = a_course()
    trials(course, Drawn(), 3, tmp_path / "lutra.jsonl")
    rows = [{**row, "code": Lutra.version} for row in read(tmp_path / "lutra.jsonl") if row["kind"] == "trial"]
    (tmp_path / "lutra.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    long, short = (Configuration(row["configuration"]) for row in rows[:2])
    ended = Recommendation(short, "handover", simplified_from=long)
    monkeypatch.setattr(Session, "handover", lambda *_: ended)
    found = run.finalists(course.session, Plan(trials=3), Path(sys.executable), tmp_path)
    assert (found["lutra"], found["lutra_unshortened"]) == (short, long)
    monkeypatch.setattr(Session, "handover", lambda *_: replace(ended, simplified_from=None))
    assert "lutra_unshortened" not in run.finalists(course.session, Plan(trials=3), Path(sys.executable), tmp_path)


def test_a_second_session_begins_with_what_the_first_taught(tmp_path: Path) -> None:
    again, smaller = named("tpcc-postgresql-again"), a_server("15", 2, 2, rotational=True)
    own = run.session(again, smaller, 0)
    with pytest.raises(LabError, match=r"lutra\.jsonl has no trials: run that first"):
        run.taught(again, own, tmp_path)
    assert run.taught(CONTEST, own, tmp_path) == ()
    path = tmp_path / CONTEST.name / "lutra.jsonl"
    first = trials(a_course(), Drawn(), 8, path)
    (past,) = run.taught(again, own, tmp_path)
    assert len(past.posteriors["tps"].z) == len(first)
    rows = [first[0], {**first[1], "origin": "rule_based"}]
    assert replace(own, past=(past,)).recommend(rows).configuration != own.recommend(rows).configuration
