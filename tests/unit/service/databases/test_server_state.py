from __future__ import annotations

from tests.support.service.hosted import Agent, Service


def test_what_an_observing_agent_measures_is_shown_newest_first_with_the_source_of_its_p99(
    service: Service, database: str
) -> None:
    agent = service.agent(database, mode="observe")
    for qps in (900.0, 950.0):
        agent.send(agent.report(**agent.window(qps=qps, p99_ms=12.0, load1=0.5)))
    found = service.take("GET", f"/v1/databases/{database}/windows")["items"]
    assert [w["metrics"]["qps"] for w in found] == [950.0, 900.0]
    assert (found[0]["p99_source"], found[0]["p99_of"]) == ("driver", "transaction")
    assert found[0]["start"] < found[0]["end"]
    named = service.take("GET", f"/v1/databases/{database}/windows?metric=qps&metric=p99_ms")["items"]
    assert named[0]["metrics"] == {"qps": 950.0, "p99_ms": 12.0}


def test_windows_are_paged_to_the_end_and_heartbeats_are_none(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    for qps in (1.0, 2.0, 3.0):
        agent.send(agent.report(**agent.window(qps=qps)))
    path, seen = f"/v1/databases/{database}/windows?limit=2", []
    page = service.take("GET", path)
    seen += page["items"]
    page = service.take("GET", f"{path}&after={page['next']}")
    assert page["next"] is None
    assert [w["metrics"]["qps"] for w in seen + page["items"]] == [3.0, 2.0, 1.0]
    assert service.code("GET", f"{path}&after=yesterday") == (422, "invalid_request")
    assert service.code("GET", "/v1/databases/db_none/windows") == (404, "not_found")


def test_settings_are_shown_as_the_server_and_as_people_write_them(
    service: Service, agent: Agent, database: str
) -> None:
    assert service.code("GET", f"/v1/databases/{database}/settings") == (409, "not_enough_observations")
    agent.send()
    found = {s["setting"]: s for s in service.take("GET", f"/v1/databases/{database}/settings")["items"]}
    buffers = found["shared_buffers"]
    assert (buffers["value"], buffers["unit"], buffers["text"]) == (16384, "8kB", "128MB")
    assert buffers["persisted"] is None
    assert found["work_mem"]["range"] is not None
    assert found["synchronous_commit"]["range"] is None


def test_settings_are_shown_too_where_nothing_is_left_to_move(service: Service, database: str) -> None:
    service.take("PATCH", f"/v1/databases/{database}", {"policy": {"movable": ["shared_buffers"]}})
    service.agent(database, mode="reload_only").send()
    assert {s["range"] for s in service.take("GET", f"/v1/databases/{database}/settings")["items"]} == {None}


def test_an_error_names_the_place_once_and_the_value(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    path = f"/v1/databases/{database}/recommendations"
    told = service.ask("POST", path, {"settings": {"work_mem": True}}).json()
    assert told["detail"] == "settings.work_mem: expected a number or a text, got true"
    told = service.ask("PATCH", f"/v1/databases/{database}", {"policy": {"memory_fraction": 7}}).json()
    assert told["detail"].endswith("got 7")
    assert service.ask("POST", path, [1]).json()["detail"] == "the body has to be a JSON object"
