"""What is read can be put back as it was read."""

from __future__ import annotations

from tests.support.service.hosted import Agent, Service

RAIL = {"limit": 1.5, "hold_s": 45.0, "enabled": True}


def test_guardrails_put_back_as_they_were_read_change_nothing(service: Service, agent: Agent, database: str) -> None:
    own = {"guardrails": {"disk": {"limit": 1e9, "hold_s": 5.0}}, "firing": ["qps"]}
    agent.send(agent.report(status={"mode": "reload_only", **own}))
    path = f"/v1/databases/{database}/guardrails"
    service.take("PUT", path, {"guardrails": {"p99": RAIL}})
    read = service.take("GET", path)
    assert {read["guardrails"][n]["origin"] for n in ("p99", "disk", "qps")} == {"service", "agent", "default"}
    assert service.take("PUT", path, read) == read
    assert service.take("GET", path) == read


def test_a_guardrail_that_was_read_and_edited_is_set(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    path = f"/v1/databases/{database}/guardrails"
    read = service.take("GET", path)
    read["guardrails"]["qps"]["limit"] = 0.7
    changed = service.take("PUT", path, read)["guardrails"]
    assert (changed["qps"]["limit"], changed["qps"]["origin"]) == (0.7, "service")
    assert changed["p99"]["origin"] == "default"
    assert agent.send()["rules"]["guardrails"] == {"qps": {"limit": 0.7, "hold_s": 60.0, "enabled": True}}


def test_a_default_can_be_set_here_so_that_the_agents_file_does_not_move_it(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send()
    path = f"/v1/databases/{database}/guardrails"
    rail = service.take("GET", path)["guardrails"]["p99"]
    told = service.take("PUT", path, {"guardrails": {"p99": {k: rail[k] for k in ("limit", "hold_s")}}})
    assert told["guardrails"]["p99"]["origin"] == "service"


def test_maintenance_windows_put_back_as_they_were_read_change_nothing(service: Service, database: str) -> None:
    path = f"/v1/databases/{database}/maintenance-windows"
    window = {"weekdays": ["sat", "sun"], "start": "02:00", "minutes": 120, "zone": "Europe/Berlin"}
    service.take("PUT", path, {"windows": [window]})
    read = service.take("GET", path)
    assert read["next"] is not None
    assert service.take("PUT", path, read)["windows"] == read["windows"] == [window]


def test_a_policy_put_back_as_it_was_read_changes_nothing(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    policy = {"pins": {"max_connections": 100}, "ranges": {"work_mem": ["4MB", "64MB"]}, "memory_fraction": 0.7}
    path = f"/v1/databases/{database}"
    service.take("PATCH", path, {"policy": policy})
    read = service.take("GET", path)
    assert service.take("PATCH", path, {"policy": read["policy"]})["policy"] == read["policy"]
    assert service.take("GET", path)["policy"] == read["policy"]
