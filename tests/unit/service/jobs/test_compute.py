from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lutra_models.errors import FitFailed
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_service.app.model_versions import versions
from lutra_service.db.schema.recommendation import Recommendation, Request
from lutra_service.db.schema.records import StoredRequest
from lutra_service.db.store import Store, UnitOfWork
from lutra_service.workers.protocol import NoWorker, WorkerLost

from tests.support.service.hosted import Agent, Document, Fakes, Service, fake_executor, happened, running
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

OBSERVE = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}


class Losing(Fakes):
    """Its process ends the first few times; `losses` says how often."""

    def __init__(self, losses: int, error: type[Exception] = WorkerLost) -> None:
        self.losses = losses
        self.error = error

    def recommend(self, request: Mapping[str, Any]) -> Document:
        self.losses -= 1
        if self.losses >= 0:
            raise self.error("its process ended with status 1")
        return super().recommend(request)


class Answering(Fakes):
    """Answers what `change` makes of a right answer."""

    def __init__(self, change: Callable[[Document], object]) -> None:
        self.change = change

    def recommend(self, request: Mapping[str, Any]) -> Document:
        answer = super().recommend(request)
        self.change(answer)
        return answer


def opened(service: Service, name: str = "shop") -> Agent:
    agent = service.agent(service.database(name), mode="reload_only")
    agent.observe()
    service.take("POST", f"/v1/databases/{agent.database}/sessions", OBSERVE)
    return agent


def asked(service: Service) -> tuple[Agent, Document]:
    agent = opened(service)
    return agent, service.recommended(agent.database)


def session_of(service: Service, agent: Agent) -> Document:
    (session,) = service.take("GET", f"/v1/databases/{agent.database}/sessions")["items"]
    found: Document = session
    return found


def test_a_computation_whose_worker_was_lost_is_computed_again(tmp_path: Path) -> None:
    with running(tmp_path, executor=fake_executor(Losing(2))) as service:
        _, made = asked(service)
        assert made["state"] == "proposed"


def test_work_that_is_lost_again_and_again_is_given_up(tmp_path: Path) -> None:
    with running(tmp_path, executor=fake_executor(Losing(9))) as service:
        agent, made = asked(service)
        assert made["state"] == "failed"
        assert "lost 3 times: its process ended with status 1" in made["error"]
        assert session_of(service, agent)["state"] == "paused"
        compute = service.client.app.state.compute  # type: ignore[attr-defined]
        until(lambda: not compute._running)


def test_a_computation_that_no_worker_takes_waits_and_is_not_to_blame(tmp_path: Path) -> None:
    with running(tmp_path, executor=fake_executor(Losing(5, NoWorker))) as service:
        agent, made = asked(service)
        assert made["state"] == "proposed", "waiting is no attempt: five of them would be too many"
        assert session_of(service, agent)["state"] == "running"


def test_a_fit_that_fails_says_so_and_pauses_the_session(tmp_path: Path) -> None:
    class Failing(Fakes):
        def recommend(self, request: Mapping[str, Any]) -> Document:
            raise FitFailed("the covariance is not positive definite")

    with running(tmp_path, executor=fake_executor(Failing())) as service:
        agent, made = asked(service)
        assert (made["state"], made["error"]) == ("failed", "fit_failed: the covariance is not positive definite")
        assert session_of(service, agent)["state"] == "paused"


def test_an_answer_that_does_not_fit_the_question_fails_alone_and_nothing_of_it_is_stored(tmp_path: Path) -> None:
    wrong: dict[str, Callable[[Document], object]] = {
        "configuration": lambda a: a.pop("configuration"),
        "not requested: fsync": lambda a: a["configuration"].update(fsync="off"),
        "origin": lambda a: a.update(origin="<script>"),
        "observations": lambda a: a.update(observations=-1),
        "predictions.qps.median": lambda a: a.update(predictions={"qps": prediction(median=float("inf"))}),
        "contain its median": lambda a: a.update(predictions={"qps": prediction(median=9.0)}),
        "predictions.qps.level": lambda a: a.update(predictions={"qps": prediction(level=1.0)}),
        "extra": lambda a: a.update(extra=1),
        "reasons": lambda a: a.update(reasons=[{"setting": "work_mem"}]),
        "the model cannot be read": lambda a: a.update(snapshot={"format": 9}),
    }
    answering = Answering(lambda _: None)
    with running(tmp_path, executor=fake_executor(answering)) as service:
        for number, (said, change) in enumerate(wrong.items()):
            answering.change = change
            agent = opened(service, f"shop {number}")
            made = service.recommended(agent.database)
            assert made["state"] == "failed", said
            assert made["error"].startswith("invalid_answer: ")
            assert said in made["error"]
            assert made["configuration"] is None
        answering.change = lambda _: None
        agent = opened(service, "sound")
        made = service.recommended(agent.database)
        assert made["state"] == "proposed"


@pytest.mark.parametrize("origin", ["current", "baseline", "handover"])
def test_an_answer_that_calls_itself_a_way_back_is_held_to_the_memory_limit(tmp_path: Path, origin: str) -> None:
    two_terabytes = {"work_mem": (2 << 30) - 1}
    lying = Answering(lambda a: (a["configuration"].update(two_terabytes), a.update(origin=origin)))
    with running(tmp_path, executor=fake_executor(lying)) as service:
        _, made = asked(service)
        assert made["state"] == "failed"
        assert made["error"].startswith("memory_budget_exceeded")


def prediction(**other: Any) -> Document:
    return {"median": 2.0, "low": 1.0, "high": 3.0, "level": 0.9, "far": False, **other}


def test_a_request_that_cannot_be_read_fails_alone(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        broken, sound = opened(service, "broken"), opened(service, "sound")
        (row,) = flood(service.store, broken.database, 1, past=["snap_that_went"])
        service.client.app.state.compute.wake()  # type: ignore[attr-defined]
        failed = service.until(f"/v1/recommendations/{row}", lambda r: r["state"] != "computing")
        assert (failed["state"], "snap_that_went" in failed["error"]) == ("failed", True)
        made = service.recommended(sound.database)
        assert made["state"] == "proposed"


class Blocked(Fakes):
    """Computes nothing before `go`, and notes whose turn it was by the session's seed."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.seeds: list[int] = []

    def recommend(self, request: Mapping[str, Any]) -> Document:
        self.seeds.append(request["entropy"][0])
        assert self.go.wait(PATIENCE_S)
        return super().recommend(request)


def flood(store: Store, database: str, number: int, seed: int = 0, **parts: Any) -> list[str]:
    """Computations of one database that nobody asked for over REST: rows as a service in error might leave them."""
    session = store.read(lambda u: u.sessions.open_one(database))
    assert session is not None
    ids = []
    for n in range(number):
        id_ = f"rec_0_{database}_{n:03}"
        payload = {**a_request(store, database), "entropy": [seed, 1], **parts}
        asked = Request(id_, seed, "0", {}, session.created_at)
        row = Recommendation(id_, database, Kind.SEARCH, State.COMPUTING, asked, session_id=session.id)
        store.write(
            lambda u, row=row, p=payload: (
                u.recommendations.add(row),
                u.requests.add(StoredRequest(row.id, "recommend", p)),
            )
        )  # type: ignore[misc]
        ids.append(id_)
    return ids


def a_request(store: Store, database: str) -> Document:
    from lutra_models import serial
    from lutra_service.app.databases.current_server import context_of
    from lutra_service.app.tuning.record import histories

    def read(u: Any) -> Document:
        session = u.sessions.open_one(database)
        at = context_of(u, u.databases.get(database), session)
        seen = serial.history_to_dict(histories.history(u, at, session), at.server, at.policy)
        return {"history": seen, "baseline": dict(at.active), "safe": True, "past": []}

    return store.read(read)


@pytest.mark.slow
def test_databases_take_turns_however_many_computations_of_one_wait(tmp_path: Path) -> None:
    fakes = Blocked()
    with running(tmp_path, executor=fake_executor(fakes), workers=1) as service:
        many, one = opened(service, "many"), opened(service, "one")
        flood(service.store, many.database, 40, seed=1)
        service.client.app.state.compute.wake()  # type: ignore[attr-defined]
        until(lambda: fakes.seeds)
        (row,) = flood(service.store, one.database, 1, seed=2)
        fakes.go.set()
        service.until(f"/v1/recommendations/{row}", lambda r: r["state"] != "computing")
        assert fakes.seeds[:2] == [1, 2]


def test_one_database_holds_one_worker_at_most(tmp_path: Path) -> None:
    fakes = Blocked()
    with running(tmp_path, executor=fake_executor(fakes), workers=4) as service:
        many, one = opened(service, "many"), opened(service, "one")
        flood(service.store, many.database, 20, seed=1)
        flood(service.store, one.database, 1, seed=2)
        service.client.app.state.compute.wake()  # type: ignore[attr-defined]
        until(lambda: len(fakes.seeds) == 2)
        compute = service.client.app.state.compute  # type: ignore[attr-defined]
        compute._claim()
        assert sorted(fakes.seeds) == [1, 2]
        assert len(compute._running) == 2
        fakes.go.set()


def test_asking_and_stopping_again_and_again_leaves_one_computation_at_most(tmp_path: Path) -> None:
    fakes = Blocked()
    with running(tmp_path, executor=fake_executor(fakes), workers=1) as service:
        agent = opened(service)
        for _ in range(5):
            for _ in range(3):
                service.take("POST", f"/v1/databases/{agent.database}/recommendations")
            waiting = service.take("GET", f"/v1/databases/{agent.database}/recommendations?state=computing")["items"]
            assert len(waiting) == 1
            session = service.take("GET", f"/v1/databases/{agent.database}/sessions")["items"][0]
            service.take("POST", f"/v1/sessions/{session['id']}/stop")
            service.take("POST", f"/v1/databases/{agent.database}/sessions", OBSERVE)
        fakes.go.set()


def test_what_nobody_waits_for_any_more_is_ended(tmp_path: Path) -> None:
    killed = threading.Event()

    class Endless(Fakes):
        def recommend(self, request: Mapping[str, Any]) -> Document:
            assert killed.wait(PATIENCE_S)
            raise WorkerLost("its process was ended by SIGKILL")

    def make() -> Any:
        worker: Any = fake_executor(Endless())()
        worker.kill = killed.set
        return worker

    with running(tmp_path, executor=make, workers=1) as service:
        agent = opened(service)
        made = service.take("POST", f"/v1/databases/{agent.database}/recommendations")
        compute = service.client.app.state.compute  # type: ignore[attr-defined]
        until(lambda: made["id"] in compute._running)
        service.take("POST", f"/v1/sessions/{session_of(service, agent)['id']}/stop")
        assert killed.wait(PATIENCE_S)
        assert service.take("GET", f"/v1/recommendations/{made['id']}")["state"] == "expired"


class Hanging(Blocked):
    """Candidates' computations wait for `let_go`, which ends the process, and recommendations come at once."""

    def __init__(self) -> None:
        super().__init__()
        self.go.set()
        self.let_go = threading.Event()
        self.begun = threading.Event()

    def conformance(self, request: Mapping[str, Any]) -> Document:
        self.begun.set()
        assert self.let_go.wait(PATIENCE_S)
        raise WorkerLost("it gave no answer")

    predict = conformance


def a_candidate(service: Service, **surrogate: str) -> str:
    options = {"surrogate": surrogate or {"name": "toygp"}}
    return str(service.take("POST", "/v1/models", {"name": "theirs", "options": options})["id"])


def scored(service: Service, model: str) -> Document:
    service.take("POST", f"/v1/models/{model}/score")
    return service.until(f"/v1/models/{model}", lambda m: m["scoring"]["state"] != "waiting")


def test_a_candidate_that_hangs_in_its_score_holds_no_worker_of_the_recommendations(tmp_path: Path) -> None:
    fakes = Hanging()
    with running(tmp_path, executor=fake_executor(fakes), workers=1) as service:
        model = a_candidate(service)
        service.take("POST", f"/v1/models/{model}/score")
        until(fakes.begun.is_set)
        for name in ("shop", "till"):
            assert asked_of(service, name)["state"] == "proposed"
        fakes.let_go.set()
        ended = service.until(f"/v1/models/{model}", lambda m: m["scoring"]["state"] != "waiting")
        assert ended["scoring"]["error"] == "the computation was lost: it gave no answer"
        for method, path in (("PUT", "shadow"), ("POST", "promote")):
            refused = service.ask(method, f"/v1/models/{model}/{path}")
            assert (refused.status_code, "it gave no answer" in refused.json()["detail"]) == (409, True), refused.text


def test_one_that_hangs_in_the_shadow_leaves_it_after_the_first_loss(tmp_path: Path) -> None:
    fakes = Hanging()
    with running(tmp_path, executor=fake_executor(fakes), workers=1) as service:
        model = a_candidate(service, name="numpy")
        service.take("PUT", f"/v1/models/{model}/shadow")
        agent = opened(service)
        made = service.recommended(agent.database)
        for _ in range(3):
            service.store.write(lambda u: versions.begin_shadows(u, predicted(u, made["id"])))
        until(fakes.begun.is_set)
        assert asked_of(service, "till")["state"] == "proposed"
        fakes.let_go.set()
        service.until(f"/v1/models/{model}", lambda m: not m["shadow"])
        assert service.store.read(lambda u: u.jobs.count("shadow", u.now)) == (0, 0)
        newest = service.take("GET", "/v1/audit")["items"][0]
        assert (newest["action"], newest["target"]) == ("model.shadow", model)
        assert newest["after"]["why"] == "the computation was lost: it gave no answer"


def asked_of(service: Service, name: str) -> Document:
    return service.recommended(opened(service, name).database)


def predicted(unit: UnitOfWork, id_: str) -> Recommendation:
    """A recommendation as if it were another one, with a prediction to compare."""
    row = unit.recommendations.get(id_)
    assert row.proposal is not None
    proposal = replace(row.proposal, predictions={"qps": prediction()})
    made = replace(row, id=unit.new_id("rec"), request=replace(row.request, key=unit.new_id("key")), proposal=proposal)
    unit.recommendations.add(made)
    unit.requests.add(StoredRequest(made.id, "recommend", unit.requests.get(id_).payload))
    return made


def test_what_brings_code_runs_in_the_shadow_only_after_it_passed_the_suite(tmp_path: Path) -> None:
    suite: Document = {"faults": ["keeps nothing"]}

    class Judging(Fakes):
        def conformance(self, request: Mapping[str, Any]) -> Document:
            return {"conformance": [{"option": "surrogate.name", "name": "toygp", **suite}]}

    with running(tmp_path, executor=fake_executor(Judging()), workers=1) as service:
        model = a_candidate(service)
        assert "was not scored" in service.ask("PUT", f"/v1/models/{model}/shadow").json()["detail"]
        scored(service, model)
        assert "keeps nothing" in service.ask("PUT", f"/v1/models/{model}/shadow").json()["detail"]
        suite["faults"] = []
        scored(service, model)
        assert service.take("PUT", f"/v1/models/{model}/shadow")["shadow"]
        suite["faults"] = ["keeps nothing any more"]
        assert not scored(service, model)["shadow"]


def test_a_session_says_what_its_computation_waits_for(tmp_path: Path) -> None:
    fakes = Blocked()
    with running(tmp_path, executor=fake_executor(fakes), workers=1) as service:
        first, second = opened(service, "first"), opened(service, "second")
        ids = [flood(service.store, agent.database, 1)[0] for agent in (first, second)]
        service.client.app.state.compute.wake()  # type: ignore[attr-defined]
        until(lambda: fakes.seeds)
        earlier = datetime.now(UTC) - timedelta(minutes=1)
        for id_ in ids:
            happened(service, id_, created_at=earlier)
        assert session_of(service, first)["message"].endswith("s ago and is being computed")
        told = "and waits for a free worker (LUTRA_WORKERS): 1 are being computed, and 0 others wait"
        assert told in session_of(service, second)["message"]
        fakes.go.set()
