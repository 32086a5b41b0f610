"""One session over a database and the machine beneath it, where the policy says so; without it all is as before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lutra_models import serial
from lutra_models.server import ServerSetting

from tests.support.fakes.tasks import answer
from tests.support.service.hosted import Agent, Document, Fakes, Service, fake_executor, running

pytestmark = pytest.mark.slow

HOST = {
    "vm.swappiness": ServerSetting("60", "", "integer", 0, 200, applies="immediate"),
    "vm.nr_hugepages": ServerSetting("0", "2048kB", "integer", 0, 2**31 - 1, applies="immediate"),
    "data_disk.scheduler": ServerSetting(
        "mq-deadline", "", "enum", options=("none", "mq-deadline"), applies="immediate"
    ),
}


class Both(Fakes):
    """Recommends a setting of each, and keeps the names of what it might have moved."""

    def __init__(self) -> None:
        self.knobs: set[str] = set()

    def recommend(self, request: Mapping[str, Any]) -> Document:
        history = serial.history_from_dict(request["history"])
        self.knobs = {k["name"] for k in request["history"]["knobs"]}
        both = {n: v for n, v in {"work_mem": 8192, "vm.swappiness": 10}.items() if n in self.knobs}
        assert history.current is not None
        return answer({**history.current, **both}, "improvement", len(history.observations))


def with_host(service: Service) -> Agent:
    agent = service.agent(service.database())
    agent.settings |= HOST
    agent.send()
    return agent


@pytest.mark.parametrize("allowed", [False, True])
def test_a_session_moves_settings_of_both_where_the_policy_allows_the_hosts(tmp_path: Path, allowed: bool) -> None:
    fakes = Both()
    with running(tmp_path, None, fake_executor(fakes)) as service:
        agent = with_host(service)
        path = f"/v1/databases/{agent.database}"
        service.take("PATCH", path, {"policy": {"host": allowed}})
        session = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", "approval": "automatic"}
        service.take("POST", f"{path}/sessions", {**session, "max_trials": 3, "verification_rounds": 0})
        directive = agent.next_directive()
        assert ("vm.swappiness" in fakes.knobs) is ("data_disk.scheduler" in fakes.knobs) is allowed
        assert "vm.nr_hugepages" not in fakes.knobs
        assert (directive["settings"]["work_mem"], directive["settings"].get("vm.swappiness", 60) == 10) == (
            8192,
            allowed,
        )
        agent.carry_out(directive)
        made = service.take("GET", f"/v1/recommendations/{directive['recommendation']}")
        steps = {c["setting"]: c["do_steps"] for c in made["changes"]}
        warned = [w for w in made["warnings"] if "everything that runs on the database's host" in w]
        if not allowed:
            assert (set(steps), warned) == ({"work_mem"}, [])
            return
        assert warned == ["affects everything that runs on the database's host, not only the database: vm.swappiness"]
        assert steps["vm.swappiness"] == [
            {"text": "vm.swappiness = 10", "file": "/etc/sysctl.d/90-lutra.conf", "section": ""},
            {"text": "sysctl -w vm.swappiness=10", "file": "", "section": ""},
        ]


def test_an_operator_who_names_a_host_setting_needs_the_policy_too(service: Service) -> None:
    agent = with_host(service)
    path = f"/v1/databases/{agent.database}"
    body = {"settings": {"vm.swappiness": 10}}
    refused = service.ask("POST", f"{path}/recommendations", body).json()
    assert (refused["code"], "allow host in the policy" in refused["detail"]) == ("invalid_configuration", True)
    service.take("PATCH", path, {"policy": {"host": True}})
    assert service.take("POST", f"{path}/recommendations", body)["changes"][0]["after"] == 10


def test_reserved_huge_pages_are_refused_where_the_memory_does_not_hold_them(service: Service) -> None:
    agent = with_host(service)
    path = f"/v1/databases/{agent.database}"
    service.take("PATCH", path, {"policy": {"host": True}})
    told = service.code("POST", f"{path}/recommendations", {"settings": {"vm.nr_hugepages": 3600}})
    assert told == (422, "memory_budget_exceeded")
    made = service.take("POST", f"{path}/recommendations", {"settings": {"vm.nr_hugepages": "1GB"}})
    terms = {t["name"]: t["bytes"] for t in made["memory"]["terms"]}
    assert terms["explicit huge pages"] == 1 << 30


@pytest.mark.parametrize("allowed", [False, True])
def test_the_hosts_settings_are_shown_whether_or_not_they_may_move(service: Service, allowed: bool) -> None:
    agent = with_host(service)
    path = f"/v1/databases/{agent.database}"
    service.take("PATCH", path, {"policy": {"host": allowed}})
    shown = {s["setting"]: s for s in service.take("GET", f"{path}/settings")["items"]}
    assert shown["vm.swappiness"]["text"] == "60"
    assert (shown["vm.swappiness"]["range"] is not None) is allowed
