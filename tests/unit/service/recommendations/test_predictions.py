from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from lutra_client import Client
from lutra_client.commands.program import main
from lutra_models import gp, serial
from lutra_service.app.jobs.recommendation_jobs import task_of
from lutra_service.workers import worker

from tests.support.cli import faults
from tests.support.service.hosted import Agent, Document, Fakes, Service, fake_executor, running

pytestmark = pytest.mark.slow

SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 4,
    "verification_rounds": 0,
}


UNSEEN = "max_connections"


class Fitting(Fakes):
    """The real model, fitted where there is something to fit."""

    def recommend(self, request: Mapping[str, Any]) -> Document:
        result = super().recommend(request)
        history = serial.history_from_dict(request["history"])
        if len(history.observations) >= 2:
            snapshot = gp.fit(history, rng=np.random.default_rng(1)).snapshot
            result["snapshot"] = snapshot.to_dict()
        return result


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Agent]]:
    directory: Path = tmp_path_factory.mktemp("service")
    with running(directory, executor=fake_executor(Fitting())) as service:
        agent = service.agent(service.database())
        agent.send()
        service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)
        for qps in (1000.0, 1100.0, 1150.0, 1160.0, 1160.0):
            directive = agent.next_directive()
            agent.carry_out(directive, qps=qps, p99_ms=9000 / qps)
        yield service, agent


@pytest.mark.slow
def test_texts_and_parts_are_laid_over_the_current_settings(tuned: tuple[Service, Agent]) -> None:
    service, agent = tuned
    path = f"/v1/databases/{agent.database}/predictions"
    one = service.take("POST", path, {"settings": {"work_mem": "6MB"}})
    assert one["predictions"] == service.take("POST", path, {"settings": {"work_mem": 6144}})["predictions"]
    p = one["predictions"]["qps"]
    assert p["low"] <= p["median"] <= p["high"]
    assert (one["configuration"]["work_mem"], one["refusal"]) == (6144, None)
    wider = service.take("POST", path, {"settings": {"work_mem": "6MB"}, "level": 0.99})["predictions"]["qps"]
    assert wider["low"] < p["low"] < p["high"] < wider["high"]


@pytest.mark.slow
def test_the_program_answers_what_if(tuned: tuple[Service, Agent], monkeypatch: pytest.MonkeyPatch) -> None:
    service, agent = tuned
    token = service.headers["Authorization"].removeprefix("Bearer ")
    monkeypatch.setattr(Client, "from_environment", lambda: Client(token=token, http=service.client))
    told = CliRunner().invoke(main, ["what-if", "shop", "work_mem=6MB"])
    assert told.exit_code == 0, told.output
    assert "work_mem  " in told.output
    assert "expected: qps " in told.output
    assert "memory: " in told.output
    told = CliRunner().invoke(main, ["what-if", "shop", "work_mem=6MB", "--json"])
    assert faults("PredictionsAnswer", told.stdout) == []
    unseen = CliRunner().invoke(main, ["what-if", agent.database, f"{UNSEEN}=200"])
    assert f"not predicted: {UNSEEN}: " in unseen.output


@pytest.mark.slow
def test_a_prediction_tells_its_record_and_what_it_rests_on(tuned: tuple[Service, Agent]) -> None:
    service, agent = tuned
    told = service.take("POST", f"/v1/databases/{agent.database}/predictions", {"settings": {}})
    assert told["record"]["qps"]["n"] >= 1
    assert told["record"]["qps"]["held"] <= told["record"]["qps"]["n"]
    assert told["observations"] == 3
    assert told["changes"] == []


@pytest.mark.slow
def test_what_would_be_refused_is_told_and_still_answered(tuned: tuple[Service, Agent]) -> None:
    service, agent = tuned
    path = f"/v1/databases/{agent.database}/predictions"
    told = service.take("POST", path, {"settings": {"work_mem": "2GB"}})
    assert told["refusal"]["code"] == "memory_budget_exceeded"
    assert service.code("POST", path, {"settings": {"work_mem": "much"}}) == (422, "invalid_configuration")
    assert service.code("POST", path, {"settings": {}, "level": 1}) == (422, "invalid_request")


@pytest.mark.slow
@pytest.mark.parametrize("value", ["120", "400"])
def test_what_no_model_has_seen_is_not_known_instead_of_predicted_to_change_nothing(
    tuned: tuple[Service, Agent], value: str
) -> None:
    service, agent = tuned
    path = f"/v1/databases/{agent.database}/predictions"
    told = service.take("POST", path, {"settings": {UNSEEN: value}})
    assert told["predictions"] == {}
    (unknown,) = told["not_known"]
    assert (unknown["setting"], unknown["before"], unknown["after"]) == (UNSEEN, 100, int(value))
    assert "sessions" in unknown["meaning"]
    assert unknown["memory_bytes"] > 0
    none = service.take("POST", path, {"settings": {}})
    assert (none["not_known"], none["predictions"]["qps"]["without"]) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["fsync", "synchronous_commit"])
def test_a_switch_that_can_lose_data_is_neither_predicted_nor_let_through(
    tuned: tuple[Service, Agent], setting: str
) -> None:
    service, agent = tuned
    told = service.take("POST", f"/v1/databases/{agent.database}/predictions", {"settings": {setting: "off"}})
    assert told["predictions"] == {}
    assert [(u["setting"], u["risk"]) for u in told["not_known"]] == [(setting, "durability")]
    assert told["refusal"] is not None


@pytest.mark.slow
def test_an_operators_own_settings_are_not_predicted_from_what_they_are_not(tuned: tuple[Service, Agent]) -> None:
    service, agent = tuned
    ask = f"/v1/databases/{agent.database}/recommendations"
    unseen = service.take("POST", ask, {"settings": {UNSEEN: 120}})
    assert unseen["predictions"] == {}
    both = service.take("POST", ask, {"settings": {UNSEEN: 120, "work_mem": "6MB"}})
    assert both["predictions"]["qps"]["without"] == [UNSEEN]
    for made in (unseen, both):
        service.take("POST", f"/v1/recommendations/{made['id']}/reject")


@pytest.mark.slow
def test_beside_what_is_known_a_prediction_names_what_it_leaves_out(tuned: tuple[Service, Agent]) -> None:
    service, agent = tuned
    path = f"/v1/databases/{agent.database}/predictions"
    alone = service.take("POST", path, {"settings": {"work_mem": "6MB"}})["predictions"]["qps"]
    both = service.take("POST", path, {"settings": {"work_mem": "6MB", UNSEEN: 120}})
    assert both["predictions"]["qps"] == {**alone, "without": [UNSEEN]}
    assert [u["setting"] for u in both["not_known"]] == [UNSEEN]


@pytest.mark.slow
def test_what_was_never_varied_is_far_however_sure_the_model_is(tuned: tuple[Service, Agent]) -> None:
    service, agent = tuned
    path = f"/v1/databases/{agent.database}/predictions"
    for size in ("3GB", "400GB"):
        far = service.take("POST", path, {"settings": {"shared_buffers": size}})["predictions"]["qps"]
        assert (far["far"], far["unlike"]) == (True, ["shared_buffers"])
    near = service.take("POST", path, {"settings": {}})["predictions"]["qps"]
    assert near["unlike"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"work_mem": "2GB"},
        {"synchronous_commit": "off"},
        {"max_connections": 10},
        {"shared_buffers": "500GB"},
        {"max_wal_size": "20MB"},
    ],
)
def test_a_refusal_is_what_a_recommendation_of_the_same_settings_meets(
    tuned: tuple[Service, Agent], settings: Document
) -> None:
    service, agent = tuned
    base = f"/v1/databases/{agent.database}"
    told = service.take("POST", f"{base}/predictions", {"settings": settings})["refusal"]
    asked = service.ask("POST", f"{base}/recommendations", {"settings": settings})
    assert asked.status_code == 422
    assert (told["code"], told["message"]) == (asked.json()["code"], asked.json()["detail"])


def qps_of(settings: Document) -> float:
    return 500 + 80 * math.log2(settings["shared_buffers"] / 1024) + 30 * math.log2(settings["max_wal_size"] / 100)


def measured(agent: Agent, directive: Document | None) -> None:
    assert directive is not None
    agent.carry_out(directive, qps=qps_of(directive["settings"]), p99_ms=8000 / qps_of(directive["settings"]))


@pytest.mark.slow
def test_what_was_promised_of_a_recommendation_is_predicted_of_its_settings_to_the_bit(tmp_path: Path) -> None:
    with running(tmp_path, executor=fake_executor(worker)) as service:
        first, second = (service.agent(service.database(name)) for name in ("first", "second"))
        for agent, approval, trials in ((first, "automatic", 8), (second, "manual", 20)):
            agent.send()
            body = {**SESSION, "approval": approval, "max_trials": trials}
            service.take("POST", f"/v1/databases/{agent.database}/sessions", body)
        for _ in range(9):
            measured(first, first.next_directive())
        leaning = 0
        for _ in range(6):
            made = service.recommended(second.database)
            assert made["state"] == "proposed", made
            if made["predictions"]:
                asked = {"settings": made["configuration"]}
                answer = service.take("POST", f"/v1/databases/{second.database}/predictions", asked)
                assert answer["predictions"] == made["predictions"]
                (newest,) = service.store.read(lambda u: u.snapshots.newest_ids(second.database, 1))
                stored = service.store.read(lambda u, id_=newest: u.snapshots.get(id_))
                leaning += any(stored.payload["trends"].values())
            service.take("POST", f"/v1/recommendations/{made['id']}/approve")
            measured(second, second.next_directive())
        assert leaning
        job = service.store.read(lambda u: task_of(u, made["id"]))
    assert job.payload["options"] == gp.Options().to_dict()
    assert job.payload["past"]
    again = worker.recommend(job.payload)
    assert (again["configuration"], again["predictions"]) == (made["configuration"], made["predictions"])
    other = gp.Options().varied(**{"surrogate.steps": 5})
    assert worker.recommend({**job.payload, "options": other.to_dict()})["snapshot"]["options"] == other.fingerprint


@pytest.mark.slow
def test_a_what_if_rests_on_readings_of_the_load_of_now(tmp_path: Path) -> None:
    """Eight times the clients, and an eighth of the throughput: neither load's readings are the other's."""
    with running(tmp_path, executor=fake_executor(worker)) as service:
        agent = service.agent(service.database())
        agent.facts = {"context": {"clients": 8}}
        agent.send()
        service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, "max_trials": 9})
        path = f"/v1/databases/{agent.database}/predictions"
        medians = []
        for clients, factor in ((8, 1.0), (64, 0.125)):
            agent.facts = {"context": {"clients": clients}}
            directive = agent.next_directive()
            agent.send()
            if medians:
                assert service.code("POST", path, {"settings": {}}) == (409, "not_enough_observations")
            for _ in range(4):
                agent.carry_out(directive, qps=factor * qps_of(directive["settings"]), p99_ms=10.0 / factor)
                directive = agent.next_directive()
            medians.append(service.take("POST", path, {"settings": {}})["predictions"]["qps"]["median"])
        assert medians[1] / medians[0] == pytest.approx(0.125, rel=0.25)


@pytest.mark.slow
def test_nothing_is_predicted_once_the_server_no_longer_reports_what_the_model_needs(
    tuned: tuple[Service, Agent],
) -> None:
    service, agent = tuned
    path = f"/v1/databases/{agent.database}"
    gone = agent.settings.pop("random_page_cost")
    agent.send()
    try:
        assert service.take("POST", f"{path}/predictions", {"settings": {"work_mem": "6MB"}})["predictions"] == {}
        assert service.ask("POST", f"{path}/recommendations", {"settings": {"work_mem": "6MB"}}).status_code == 201
    finally:
        agent.settings["random_page_cost"] = gone
        agent.send()
