from __future__ import annotations

import pytest

from tests.support.service.hosted import Agent, Service


def test_a_database_is_registered_once_per_name(service: Service) -> None:
    body = {"name": "shop", "engine": "postgresql"}
    made = service.take("POST", "/v1/databases", body)
    assert made["id"].startswith("db_")
    assert service.code("POST", "/v1/databases", body) == (409, "conflict")


def test_an_unknown_engine_is_refused_with_the_known_ones(service: Service) -> None:
    response = service.ask("POST", "/v1/databases", {"name": "x", "engine": "oracle"})
    assert response.json()["code"] == "invalid_request"
    assert "postgresql" in response.json()["detail"]


def test_an_idempotency_key_creates_once(service: Service) -> None:
    body = {"name": "shop", "engine": "postgresql"}
    first = service.take("POST", "/v1/databases", body, **{"Idempotency-Key": "k1"})
    assert service.take("POST", "/v1/databases", body, **{"Idempotency-Key": "k1"}) == first
    other = {"name": "shop2", "engine": "postgresql"}
    told = service.code("POST", "/v1/databases", other, **{"Idempotency-Key": "k1"})
    assert told == (422, "idempotency_key_reused")
    assert len(service.take("GET", "/v1/databases")["items"]) == 1


def test_a_repeated_token_request_does_not_tell_the_secret_again(service: Service, database: str) -> None:
    body = {"name": "agent", "scopes": ["agent"]}
    path, key = f"/v1/databases/{database}/tokens", {"Idempotency-Key": "k"}
    first = service.take("POST", path, body, **key)
    again = service.take("POST", path, body, **key)
    assert first["token"].startswith("lutra_")
    assert again == {**first, "token": None}


def test_lists_are_paged_to_the_end(service: Service) -> None:
    made = [service.database(f"db{i}") for i in range(5)]
    seen: list[str] = []
    cursor = ""
    while True:
        page = service.take("GET", f"/v1/databases?limit=2{cursor}")
        seen += [d["id"] for d in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&after={page['next']}"
    assert sorted(seen) == sorted(made)


def test_a_policy_is_changed_in_parts_and_checked_against_the_catalogue(service: Service, database: str) -> None:
    path = f"/v1/databases/{database}"
    changed = service.take("PATCH", path, {"policy": {"pins": {"work_mem": "4MB"}}})["policy"]
    assert (changed["pins"], changed["memory_fraction"]) == ({"work_mem": "4MB"}, 0.8)
    changed = service.take("PATCH", path, {"policy": {"memory_fraction": 0.5}})["policy"]
    assert (changed["pins"], changed["memory_fraction"]) == ({"work_mem": "4MB"}, 0.5)
    assert service.code("PATCH", path, {"policy": {"pins": {"warp_speed": 9}}}) == (422, "invalid_configuration")
    assert service.code("PATCH", path, {"policy": {"memory_fraction": 2}}) == (422, "invalid_request")


@pytest.mark.parametrize("part", ["pins", "ranges", "restart", "durability", "host", "memory_fraction"])
def test_a_part_of_a_policy_is_never_null(service: Service, database: str, part: str) -> None:
    path = f"/v1/databases/{database}"
    before = service.take("GET", path)
    assert service.code("PATCH", path, {"policy": {part: None}}) == (422, "invalid_request")
    assert service.take("GET", path) == before


def test_which_settings_may_move_is_taken_back_with_null(service: Service, database: str) -> None:
    path = f"/v1/databases/{database}"
    assert service.take("PATCH", path, {"policy": {"movable": ["work_mem"]}})["policy"]["movable"] == ["work_mem"]
    assert service.take("PATCH", path, {"policy": {"movable": None}})["policy"]["movable"] is None


def test_a_policy_that_the_live_server_cannot_take_is_refused(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    told = service.code("PATCH", f"/v1/databases/{database}", {"policy": {"pins": {"work_mem": "four"}}})
    assert told == (422, "invalid_configuration")
    assert service.take("GET", f"/v1/databases/{database}")["policy"]["pins"] == {}


def test_a_revoked_token_opens_nothing(service: Service, agent: Agent, database: str) -> None:
    (token,) = service.take("GET", f"/v1/databases/{database}/tokens")["items"]
    service.take("DELETE", f"/v1/databases/{database}/tokens/{token['id']}")
    assert agent.code("GET", f"/v1/databases/{database}") == (401, "unauthorized")


def test_without_a_token_nothing_is_told(service: Service, database: str) -> None:
    nobody = service.as_bearer("lutra_wrong")
    assert nobody.code("GET", f"/v1/databases/{database}") == (401, "unauthorized")
    response = service.client.get("/v1/databases")
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")


def test_scopes_bound_what_a_token_may_do(service: Service, agent: Agent, database: str) -> None:
    tokens = f"/v1/databases/{database}/tokens"
    reader = service.as_bearer(service.take("POST", tokens, {"name": "r", "scopes": ["read"]})["token"])
    assert reader.take("GET", f"/v1/databases/{database}")["name"] == "shop"
    assert reader.code("PATCH", f"/v1/databases/{database}", {"policy": {}}) == (403, "forbidden")
    assert reader.code("POST", f"/v1/databases/{database}/reports", agent.report()) == (403, "forbidden")
    assert reader.code("GET", tokens) == (403, "forbidden")


def test_an_agent_opens_and_watches_a_session_and_steers_none(service: Service, agent: Agent, database: str) -> None:
    lab = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab"}
    session = agent.take("POST", f"/v1/databases/{database}/sessions", lab)["id"]
    for path in ("", "/trials"):
        agent.take("GET", f"/v1/sessions/{session}{path}")
    for step in ("pause", "resume", "stop"):
        assert agent.code("POST", f"/v1/sessions/{session}/{step}") == (403, "forbidden")
    assert service.take("POST", f"/v1/sessions/{session}/stop")["state"] == "stopped"


def test_the_catalogue_says_what_each_setting_means(service: Service) -> None:
    knobs = {k["name"]: k for k in service.take("GET", "/v1/knobs?engine=postgresql&version=16")["items"]}
    assert knobs["work_mem"]["meaning"]
    assert knobs["shared_buffers"]["applies"] == "restart"
    assert "io_method" not in knobs


def test_health_and_metrics_need_no_token(service: Service) -> None:
    assert service.client.get("/healthz").json()["status"] == "alive"
    assert service.client.get("/readyz").status_code == 200
    assert "lutra_requests_total" in service.client.get("/metrics").text
