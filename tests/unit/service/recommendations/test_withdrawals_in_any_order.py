"""Whatever is decided while an agent works, in whatever order: what is active is known, and can be rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lutra_service.app.tuning.result import expiry

from tests.support.pytest_plugins.suites import examples
from tests.support.service.hosted import Agent, Document, Service, running, some_minutes_later

DEFAULTS = {"work_mem": 4096, "random_page_cost": 4}
SESSION = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}
CONFIRMED = ("carry_out", "report", "confirm", "report")
DONE = ("rejected", "expired", "refused", "failed")

asked = st.tuples(st.sampled_from(["propose", "approve"]), st.integers(5, 12), st.sampled_from([1, 2, 3]))
approved = st.tuples(st.just("approve"), st.integers(5, 12), st.sampled_from([1, 2, 3]))
meanwhile = st.sampled_from(["reject", "rollback", "stop", "pause", "expire", "later", "sweep", "approve_it"])
done = st.sampled_from(["carry_out", "carry_out", "refuse", "fail", "revert"])
after = st.sampled_from(
    ["report", "poll", "confirm", "take_back", "rollback", "approve_part", "open", "sweep", "forget"]
)
anything = st.one_of(asked, meanwhile, done, after)


@st.composite
def rounds(draw: st.DrawFn) -> list[Any]:
    """A change that is handed out, what is decided while it is carried out, and what follows."""
    begun = [*draw(st.lists(st.just("open"), max_size=1)), draw(approved), "poll"]
    between, following = draw(st.lists(meanwhile, max_size=5)), draw(st.lists(anything, max_size=4))
    return [*begun, *between, draw(done), *following]


stories = st.one_of(
    st.lists(anything, min_size=4, max_size=16),
    st.lists(rounds(), min_size=1, max_size=2).map(lambda parts: [step for part in parts for step in part]),
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    directory: Path = tmp_path_factory.mktemp("service")
    with running(directory, sweep_s=3600) as service:
        yield service


@dataclass
class World:
    """A service, an operator, and an agent that carries out one directive at a time and tells what it did later."""

    service: Service
    agent: Agent
    in_hand: Document | None = None
    known: set[str] = field(default_factory=set)
    untold: list[Document] = field(default_factory=list)
    provisional: tuple[str, dict[str, Any]] | None = None
    remembers: bool = True
    """Whether it knows that the settings to which a rollback leads ran before."""

    def run(self, step: Any) -> None:
        name, *more = step if isinstance(step, tuple) else (step,)
        getattr(self, name)(*more)

    # the operator

    def propose(self, work_mem: int, which: int, approve: bool = False) -> None:
        wish: Document = {"work_mem": f"{work_mem}MB"} if which & 1 else {}
        wish |= {"random_page_cost": 1.5 + work_mem / 10} if which & 2 else {}
        self.post(f"/v1/databases/{self.agent.database}/recommendations", {"settings": wish, "approve": approve})

    def approve(self, work_mem: int, which: int) -> None:
        self.propose(work_mem, which, approve=True)

    def approve_it(self) -> None:
        self.decide("approve")

    def approve_part(self) -> None:
        self.decide("approve", {"settings": ["work_mem"]})

    def reject(self) -> None:
        self.decide("reject")

    def rollback(self) -> None:
        self.decide("rollback")

    def decide(self, verb: str, body: Document | None = None) -> None:
        """On the newest one that takes it."""
        for row in self.rows():
            if self.post(f"/v1/recommendations/{row['id']}/{verb}", body):
                return

    def open(self) -> None:
        self.post(f"/v1/databases/{self.agent.database}/sessions", SESSION)

    def pause(self) -> None:
        self.steer("pause")

    def stop(self) -> None:
        self.steer("stop")

    def steer(self, verb: str) -> None:
        for session in self.service.take("GET", f"/v1/databases/{self.agent.database}/sessions")["items"]:
            self.post(f"/v1/sessions/{session['id']}/{verb}")

    def post(self, path: str, body: Document | None = None) -> bool:
        response = self.service.ask("POST", path, body)
        assert response.status_code < 500, response.text
        return response.is_success

    def rows(self) -> list[Document]:
        path = f"/v1/databases/{self.agent.database}/recommendations"
        found: list[Document] = self.service.take("GET", path)["items"]
        return found

    # time

    def expire(self) -> None:
        self.pass_time(25 * 60)

    def later(self) -> None:
        self.pass_time(5)

    def pass_time(self, minutes: int) -> None:
        for row in self.rows():
            some_minutes_later(self.service, row, minutes)

    def sweep(self) -> None:
        mine = {row["id"] for row in self.rows()}
        for id_ in mine.intersection(self.service.store.read(expiry.overdue)):
            self.service.store.write(lambda unit, id_=id_: expiry.end_overdue(unit, id_))  # type: ignore[misc]

    # the agent

    def poll(self) -> None:
        if self.in_hand is None:
            self.take(self.agent.directive())

    def take(self, directive: Document | None) -> None:
        if directive is not None and directive["id"] not in self.known and self.in_hand is None:
            self.in_hand = directive

    def carry_out(self) -> None:
        if self.in_hand is None:
            return
        before = {name: self.agent.settings[name].value for name in DEFAULTS}
        self.agent.apply(self.in_hand["settings"])
        final = self.in_hand["rollback"] and self.remembers
        self.provisional = None if final else (self.in_hand["id"], before)
        self.tell("applied", **({} if final else {"confirm_by": self.agent.clock.isoformat()}))

    def forget(self) -> None:
        self.remembers = False

    def refuse(self) -> None:
        self.tell("refused", code="guardrail")

    def fail(self) -> None:
        self.tell("failed", code="database_unavailable")

    def revert(self) -> None:
        self.tell("reverted", code="not_active_after_apply")

    def tell(self, state: str, **more: Any) -> None:
        if self.in_hand is not None:
            self.known.add(self.in_hand["id"])
            self.untold.append(self.agent.outcome(self.in_hand, state, **more))
            self.in_hand = None

    def confirm(self) -> None:
        if self.provisional is not None and self.in_hand is None:
            self.untold.append(self.agent.outcome({"id": self.provisional[0]}, "confirmed"))
            self.provisional = None

    def take_back(self) -> None:
        if self.provisional is not None and self.in_hand is None:
            id_, before = self.provisional
            self.agent.apply(before)
            self.untold.append(self.agent.outcome({"id": id_}, "reverted", code="not_confirmed"))
            self.provisional = None

    def report(self) -> None:
        """An agent that is at work says nothing meanwhile."""
        if self.in_hand is not None:
            return
        status = {"mode": "reload_only", "provisional": self.provisional and self.provisional[0]}
        receipt = self.agent.send(self.agent.report(outcomes=self.untold, status=status))
        self.untold = []
        self.take(receipt["directive"])

    # the end

    def come_to_rest(self) -> None:
        for _ in range(4):
            self.carry_out()
            self.report()
            self.later()

    def active(self) -> Document:
        now = {name: float(self.agent.settings[name].value) for name in DEFAULTS}
        return {name: value for name, value in now.items() if value != DEFAULTS[name]}

    def carrying(self, name: str, value: float) -> list[Document]:
        changed = [(r, {c["setting"]: c["after"] for c in r["changes"] or ()}) for r in self.rows()]
        return [r for r, after in changed if r["kind"] != "rollback" and after.get(name) == value]


@pytest.mark.slow
@examples(6, 40)
def test_no_order_of_decisions_and_outcomes_leaves_something_active_that_nobody_answers_for(
    service: Service, examples: int
) -> None:
    @settings(max_examples=examples)
    @given(stories)
    @example([("approve", 5, 1), "poll", "carry_out", "reject", "report", "rollback"])
    @example([("approve", 5, 1), "poll", *CONFIRMED, "rollback", "forget", "poll", "carry_out", "report", "take_back"])
    @example([("approve", 5, 1), "poll", *CONFIRMED, "rollback", "forget", "poll", *CONFIRMED])
    def somebody_answers_for_all(story: list[Any]) -> None:
        ends_answered_for(service, story)

    somebody_answers_for_all()


def ends_answered_for(service: Service, story: list[Any]) -> None:
    count = len(service.store.read(lambda u: u.databases.listed(10_000, None)))
    agent = service.agent(service.database(f"db{count}"), mode="reload_only")
    world = World(service, agent)
    world.report()
    for step in story:
        world.run(step)
    world.come_to_rest()
    for name, value in world.active().items():
        carrying = world.carrying(name, value)
        states = [r["state"] for r in carrying]
        assert any(s not in DONE for s in states), (name, value, states)
        standing = [r for r in carrying if service.store.read(lambda u, r=r: u.recommendations.get(r["id"])).is_active]  # type: ignore[misc]
        assert standing, (name, value, states)
        assert service.ask("POST", f"/v1/recommendations/{standing[0]['id']}/rollback").status_code == 201
