from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lutra_models import History, Knob, KnobSpace, Number, Objective
from lutra_models.gp.options import DEFAULT
from lutra_service.app.workloads import choose

from tests.support.service.hosted import Agent, Api, Document, Fakes, Service, a_model, fake_executor, running

LAB = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 3,
    "verification_rounds": 0,
}


class Learning(Fakes):
    """Every answer comes with a model; notes what past each question leant on."""

    def __init__(self) -> None:
        self.past = 0
        self.context: Document = {}

    def recommend(self, request: Mapping[str, Any]) -> Document:
        self.past, self.context = len(request["past"]), request["history"]["context"]
        return {**super().recommend(request), "snapshot": a_model(request)}


@pytest.fixture
def fakes() -> Learning:
    return Learning()


@pytest.fixture
def service(tmp_path: Path, url: str, fakes: Learning) -> Iterator[Service]:
    with running(tmp_path, url, fake_executor(fakes)) as service:
        yield service


def registered(service: Service, name: str, past: str | None = None, label: str | None = None) -> Agent:
    policy = {} if past is None else {"past": past}
    body = {"name": name, "engine": "postgresql", "policy": policy, "label": label}
    agent = service.agent(service.take("POST", "/v1/databases", body)["id"])
    agent.send()
    return agent


def tuned(service: Service, agent: Agent, trials: int = 3) -> None:
    """A session from its beginning to its handover, or stopped after `trials` of its three."""
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", LAB)["id"]
    for _ in range(trials + (trials == 3)):
        directive = agent.next_directive()
        agent.carry_out(directive)
    if trials < 3:
        service.until(f"/v1/sessions/{session}", lambda s: s["trials_done"] == trials)
        service.take("POST", f"/v1/sessions/{session}/stop")


def learned_from(service: Service, agent: Agent) -> list[str]:
    """The databases whose models a session of this one would lean on."""

    space = KnobSpace([Knob("work_mem", Number(64, 65536, unit="kB", log=True, integer=True))])
    history = History(space, Objective("qps", "maximize"))

    def read(u: Any) -> list[str]:
        found = choose.likeliest(u, u.databases.get(agent.database), "ts_new", history, DEFAULT)
        return [u.snapshots.get(row.snapshot_id).database_id for row in found]

    return service.store.read(read)


@pytest.mark.slow
def test_a_database_learns_from_others_that_have_no_label_either(service: Service, fakes: Learning) -> None:
    one, two = registered(service, "one"), registered(service, "two")
    tuned(service, one)
    assert learned_from(service, two) == [one.database]
    tuned(service, two)
    assert fakes.past == 1


POLICIES = (
    (("label", None), (None, None), True),
    (("all", "a"), ("all", "b"), True),
    (("all", "a"), ("label", "b"), False),
    (("label", "a"), ("all", "b"), False),
    (("label", "a"), ("label", "a"), True),
    (("label", "a"), ("all", "a"), True),
    (("label", "a"), ("label", None), False),
    (("none", "a"), ("all", "a"), False),
    (("all", "a"), ("none", "a"), False),
)
"""Of who asks and of who was tuned, which begins with the default; and whether the one leans on the other."""


@pytest.mark.slow
def test_the_stricter_of_two_policies_counts(tmp_path: Path) -> None:
    with running(tmp_path, executor=fake_executor(Learning())) as service:
        one = registered(service, "one")
        tuned(service, one)
        for number, (mine, (past, label), shared) in enumerate(POLICIES):
            if past is not None:
                service.take("PATCH", f"/v1/databases/{one.database}", {"policy": {"past": past}, "label": label})
            told = service.take("GET", f"/v1/databases/{one.database}")
            assert (told["policy"]["past"], told["label"]) == (past or "label", label)
            two = registered(service, f"two{number}", *mine)
            assert learned_from(service, two) == ([one.database] if shared else []), (mine, past, label)
            assert learned_from(service, one) == [one.database], "its own past is its own"


@pytest.mark.slow
def test_many_short_sessions_of_one_database_do_not_push_the_others_out(service: Service) -> None:
    sound, hostile, new = (registered(service, name) for name in ("sound", "hostile", "new"))
    tuned(service, sound)
    for _ in range(5):
        tuned(service, hostile, trials=2)
    assert learned_from(service, new) == [sound.database]
    for _ in range(2):
        tuned(service, hostile)
    assert learned_from(service, new) == [hostile.database, sound.database]


@pytest.mark.slow
def test_what_kind_of_machine_it_is_belongs_to_the_context(service: Service, fakes: Learning) -> None:
    agent = registered(service, "here")
    machine = {"kernel": "6.18", "allocator": "jemalloc", "file_system": "xfs", "device": "nvme", "machine": "A B"}
    agent.facts = {"host": {"memory_bytes": 8 << 30, "cores": 4, "memory_pages": "never", **machine}}
    agent.send()
    tuned(service, agent)
    assert fakes.context.items() >= {"engine": "postgresql", "memory_pages": "never", **machine}.items()


def test_a_policy_from_before_shares_as_the_default_does(service: Service) -> None:
    one, two = registered(service, "one"), registered(service, "two")
    service.store.write(lambda u: u.databases.change(one.database, policy={"restart": True}))
    tuned(service, one)
    assert learned_from(service, two) == [one.database]
    assert service.take("GET", f"/v1/databases/{one.database}")["policy"]["past"] == "label"


def test_the_policy_and_the_label_are_the_operators(service: Service) -> None:
    one = registered(service, "one", label="a")
    path = f"/v1/databases/{one.database}"
    changed = service.take("PATCH", path, {"policy": {"past": "none"}, "label": "b"})
    assert (changed["policy"]["past"], changed["label"]) == ("none", "b")
    assert service.take("PATCH", path, {"policy": {"past": "all"}})["label"] == "b"
    assert service.take("PATCH", path, {"label": None})["label"] is None
    assert service.code("PATCH", path, {"policy": {"past": "some"}})[0] == 422
    bound = service.take("POST", f"{path}/tokens", {"name": "own", "scopes": ["operate"]})["token"]
    own: Api = service.as_bearer(bound)
    assert own.take("PATCH", path, {"policy": {"past": "none"}})["policy"]["past"] == "none"
    assert own.code("PATCH", path, {"label": "somebody else's"}) == (403, "forbidden")
    assert one.code("PATCH", path, {"policy": {"past": "all"}}) == (403, "forbidden")
