"""Model versions: registered, promoted, rolled back, retired; and which of them computes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lutra_models.errors import MissingExtension
from lutra_models.gp.documents import read
from lutra_models.gp.documents.parts import PARTS
from lutra_models.gp.documents.ranges import RANGES, named
from lutra_models.gp.options import DEFAULT, Options
from lutra_models.scores import scorecard
from lutra_service.app.jobs import recommendation_jobs
from lutra_service.workers import worker

from tests.support.fakes.tasks import Fakes
from tests.support.service.hosted import Agent, Api, Document, Service, fake_executor, running

pytestmark = pytest.mark.slow

SHIPPED = "mv_0000000000000000000000"
WIDER = {"surrogate": {"wary": {"shift": -1.0}}, "search": {"opening_trials": 3}}


def registered(service: Api, options: Document = WIDER, name: str = "wider") -> Document:
    made: Document = service.take("POST", "/v1/models", {"name": name, "options": options})
    return made


def asked(service: Service, database: str, agent: Agent) -> Document:
    """The next recommendation of an open session, computed; its agent carries it out afterwards."""
    made: Document = service.take("POST", f"/v1/databases/{database}/recommendations")
    return service.until(f"/v1/recommendations/{made['id']}", lambda r: r["state"] not in ("computing", "observing"))


def in_session(service: Service, database: str, agent: Agent) -> None:
    agent.send()
    body = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", "max_trials": 9}
    service.take("POST", f"/v1/databases/{database}/sessions", body)


def next_one(service: Service, database: str, agent: Agent) -> Document:
    made = asked(service, database, agent)
    service.take("POST", f"/v1/recommendations/{made['id']}/approve")
    directive = agent.directive()
    assert directive is not None
    agent.carry_out(directive)
    return made


class TestStates:
    def test_what_the_package_ships_serves_until_somebody_promotes(self, service: Service) -> None:
        (only,) = service.take("GET", "/v1/models")["items"]
        assert (only["id"], only["state"], only["serves"]) == (SHIPPED, "champion", True)
        assert only["fingerprint"] == DEFAULT.fingerprint
        assert service.code("POST", "/v1/models/rollback") == (409, "conflict")
        assert service.code("POST", f"/v1/models/{SHIPPED}/retire") == (409, "conflict")

    def test_a_promotion_and_its_way_back_are_one_call_each_and_audited(self, service: Service) -> None:
        first, second = (registered(service, name=n)["id"] for n in ("first", "second"))
        for id_ in (first, second):
            assert service.take("POST", f"/v1/models/{id_}/promote")["state"] == "champion"
        assert service.code("POST", f"/v1/models/{second}/promote") == (409, "conflict")
        states = {m["id"]: (m["state"], m["serves"]) for m in service.take("GET", "/v1/models")["items"]}
        assert states == {first: ("retired", False), second: ("champion", True), SHIPPED: ("retired", False)}
        assert [service.take("POST", "/v1/models/rollback")["id"] for _ in range(2)] == [first, SHIPPED]
        told = [(e["action"], e["target"]) for e in service.take("GET", "/v1/audit")["items"]]
        assert told[:4] == [
            ("model.rollback", SHIPPED),
            ("model.rollback", first),
            ("model.promote", second),
            ("model.promote", first),
        ]

    def test_a_retired_one_may_serve_again(self, service: Service) -> None:
        made = registered(service)["id"]
        assert service.take("POST", f"/v1/models/{made}/retire")["state"] == "retired"
        assert service.code("POST", f"/v1/models/{made}/retire") == (409, "illegal_transition")
        assert service.take("POST", f"/v1/models/{made}/promote")["serves"]
        assert service.take("GET", "/v1/models?state=champion")["items"][0]["id"] == made

    def test_few_candidates_alone_run_in_the_shadow(self, service: Service) -> None:
        assert service.code("PUT", f"/v1/models/{SHIPPED}/shadow") == (409, "conflict")
        made = [registered(service, name=str(i))["id"] for i in range(5)]
        for id_ in made[:4]:
            assert service.take("PUT", f"/v1/models/{id_}/shadow")["shadow"]
        assert service.code("PUT", f"/v1/models/{made[4]}/shadow") == (409, "conflict")
        assert not service.take("POST", f"/v1/models/{made[0]}/promote")["shadow"]
        assert not service.take("DELETE", f"/v1/models/{made[1]}/shadow")["shadow"]
        assert service.take("PUT", f"/v1/models/{made[4]}/shadow")["shadow"]

    def test_who_may_do_it(self, service: Service, database: str) -> None:
        tokens = {
            scope: service.as_bearer(service.take("POST", "/v1/tokens", {"name": scope, "scopes": [scope]})["token"])
            for scope in ("read", "models", "operate")
        }
        made = registered(tokens["models"])
        assert made["created_by"] == "models"
        for scope in ("read", "operate"):
            assert tokens[scope].take("GET", f"/v1/models/{made['id']}")["name"] == "wider"
            assert tokens[scope].code("POST", f"/v1/models/{made['id']}/promote") == (403, "forbidden")
        assert tokens["models"].take("POST", f"/v1/models/{made['id']}/promote")["serves"]
        assert tokens["models"].code("POST", f"/v1/databases/{database}/recommendations") == (403, "forbidden")


class TestDocuments:
    def test_what_is_printed_is_read_back_and_explains_each_option(self, service: Service) -> None:
        made = registered(service)
        response = service.ask("GET", f"/v1/models/{made['id']}/options")
        assert response.headers["content-type"].startswith("application/toml")
        assert read(response.text, "toml") == Options.from_dict(WIDER)
        again = service.take("POST", "/v1/models", {"name": "again", "toml": response.text})
        assert again["fingerprint"] == made["fingerprint"]
        assert "# Range: from 1 to 10000. The default: 6.\nopening_trials = 3" in response.text

    @pytest.mark.parametrize(
        ("document", "why"),
        [
            ({"options": {"search": {"opening_trials": 0}}}, "search.opening_trials: must be from 1 to 10000, got 0"),
            ({"options": {"search": {"everywhere": 100}}}, "search.everywhere: must be a power of two from 2"),
            ({"options": {"search": {"moves": [0.5, 3.0]}}}, "search.moves: must be from -1 to 1, got 3"),
            (
                {"options": {"search": {"moves": [3.0] * 20_000}}},
                "search.moves: must be at most 16 numbers, got 20,000",
            ),
            ({"options": {"targets": {"least_noise": 0.8}}}, "targets.least_noise: must be at most most_noise, 0.7"),
            ({"options": {"serch": {}}}, "no option serch"),
            ({"options": {"search": {"slack": "much"}}}, "search.slack: expected a number, got 'much'"),
            ({"options": {"search": {"acquisition": "luck"}}}, "no acquisition 'luck'; there are log_ei, log_pi"),
            ({"toml": "[search]\nslack = \n"}, "line 2"),
            (
                {"toml": "[search]\n" + ".".join("a" * 1_000) + " = 1"},
                "line 2 has 2,003 characters; the maximum is 500",
            ),
        ],
    )
    def test_what_is_no_option_is_refused_with_its_name_value_and_range(
        self, service: Service, document: Document, why: str
    ) -> None:
        response = service.ask("POST", "/v1/models", {"name": "bad", **document})
        assert (response.status_code, response.json()["code"]) == (422, "invalid_options")
        assert why in response.json()["detail"]
        assert len(service.take("GET", "/v1/models")["items"]) == 1

    def test_one_document_is_wanted(self, service: Service) -> None:
        assert service.code("POST", "/v1/models", {"name": "none"}) == (422, "invalid_request")
        assert service.code("POST", "/v1/models", {"name": "both", "toml": "", "options": {}}) == (
            422,
            "invalid_request",
        )

    def test_every_option_has_a_range_or_names_a_part(self) -> None:
        without = {name for name, _ in named(DEFAULT)} - {f"{r}.{o}" for r, room in RANGES.items() for o in room}
        assert without == {part.option for part in PARTS}

    def test_the_names_of_our_own_parts_are_those_of_the_tables(self) -> None:
        from lutra_models.gp.kernels.shapes import KERNELS
        from lutra_models.gp.search.acquisition import ACQUISITIONS
        from lutra_models.gp.surrogate.table import SURROGATES

        tables: list[tuple[Any, ...]] = [SURROGATES, KERNELS, ACQUISITIONS]
        assert [p.ours for p in PARTS] == [tuple(one.name for one in table) for table in tables]


def test_the_next_recommendation_is_the_new_champions_and_each_names_its_own(
    service: Service, database: str, agent: Agent
) -> None:
    in_session(service, database, agent)
    before = next_one(service, database, agent)
    made = registered(service)["id"]
    service.take("POST", f"/v1/models/{made}/promote")
    after = next_one(service, database, agent)
    service.take("POST", "/v1/models/rollback")
    back = asked(service, database, agent)
    assert [r["model"] for r in (before, after, back)] == [SHIPPED, made, SHIPPED]
    jobs = [
        service.store.read(lambda u, r=r: recommendation_jobs.stored_answer(u, r["id"])[0])
        for r in (before, after, back)
    ]  # type: ignore[misc]
    assert [Options.from_dict(j.payload["options"]) for j in jobs] == [DEFAULT, Options.from_dict(WIDER), DEFAULT]


def test_what_a_worker_lacks_the_version_before_computes(tmp_path: Path) -> None:
    """The service finds the package; the machine that computes does not."""

    class Lacking(Fakes):
        def recommend(self, request: Mapping[str, Any]) -> Document:
            if request["options"]["surrogate"]["name"] == "toygp":
                raise MissingExtension("no installed package brings 'toygp' to lutra.surrogates")
            return super().recommend(request)

        def conformance(self, request: Mapping[str, Any]) -> Document:
            return {"conformance": []}

    with running(tmp_path, executor=fake_executor(Lacking())) as service:
        before = registered(service)["id"]
        service.take("POST", f"/v1/models/{before}/promote")
        made = registered(service, {"surrogate": {"name": "toygp"}}, "theirs")
        assert made["packages"] == [{"option": "surrogate.name", "name": "toygp", "version": "1.0"}]
        service.take("POST", f"/v1/models/{made['id']}/score")
        service.until(f"/v1/models/{made['id']}", lambda m: m["scored_at"] is not None)
        service.take("POST", f"/v1/models/{made['id']}/promote")
        database = service.database()
        agent = service.agent(database)
        in_session(service, database, agent)
        found = asked(service, database, agent)
        assert (found["state"], found["model"]) == ("proposed", before)
        job = service.store.read(lambda unit: recommendation_jobs.stored_answer(unit, found["id"])[0])
        assert job.payload["options"] == Options.from_dict(WIDER).to_dict()


def test_what_does_not_pass_the_suite_is_not_promoted(service: Service) -> None:
    made = registered(service, {"surrogate": {"name": "toygp_broken"}}, "broken")["id"]
    assert "was not scored" in service.ask("POST", f"/v1/models/{made}/promote").json()["detail"]
    told = worker.conformance({"options": Options().using(surrogate="toygp_broken").to_dict()})
    card = scorecard([], told["conformance"])
    service.store.write(lambda unit: unit.models.change(made, scorecard=card, scored_at=unit.now))
    refused = service.ask("POST", f"/v1/models/{made}/promote").json()
    assert refused["code"] == "conflict"
    assert "one row and equal rows are no error: FitFailed: too few rows" in refused["detail"]
