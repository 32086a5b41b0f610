"""Who is told what, and when: filters, quiet hours, the loop's events, silent agents, and settings changed by hand."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from lutra_service.app.access import audit
from lutra_service.app.notices import receivers
from lutra_service.app.notices.quiet_hours import QuietHours
from lutra_service.app.notices.silence import Silence
from lutra_service.db.schema.notices import Delivery
from lutra_service.db.store import UnitOfWork

from tests.support.service.hosted import Agent, Service, applied, guard_event, silent_for
from tests.unit.service.notices.conftest import World

pytestmark = pytest.mark.slow
BERLIN = {"start": "22:00", "end": "07:00", "zone": "Europe/Berlin"}


def test_a_receiver_is_told_of_its_kinds_databases_and_labels_alone(world: World) -> None:
    crm = world.registered("crm", label="sales")
    told = {
        world.receiver("all"): 4,
        world.receiver("guards", kinds=["guard"]): 1,
        world.receiver("crm", databases=[crm]): 1,
        world.receiver("sales", labels=["sales"]): 1,
        world.receiver("either", databases=[world.database], labels=["sales"]): 3,
        world.receiver("off"): 0,
    }
    world.store.write(lambda u: receivers.change(u, list(told)[-1], enabled=False))
    world.notify("a")
    world.notify("b", kind="guard")
    world.notify("c", database=crm)
    world.notify("of all", kind="summary", database=None)
    world.deliver()
    assert {id_: len(world.log(id_)) for id_ in told} == told


def test_in_quiet_hours_notices_wait_for_one_digest_and_urgent_ones_pass(world: World) -> None:
    world.receiver(quiet_hours=BERLIN)
    world.now = datetime(2026, 3, 2, 21, 30, tzinfo=UTC)
    for n in range(3):
        world.notify(f"number {n}")
        world.notify(f"guard {n}", kind="guard")
        world.deliver()
        world.now += timedelta(hours=1)
    assert world.texts == [f"shop: guard {n}" for n in range(3)]
    world.now = datetime(2026, 3, 3, 6, 0, 1, tzinfo=UTC)
    world.deliver()
    *_, (_, digest) = world.heard
    assert (len(world.heard), digest.kind, digest.facts["count"]) == (4, "digest", 3)


@pytest.mark.parametrize(
    ("moment", "quiet"),
    [
        ("2026-03-02T20:59:00+00:00", False),
        ("2026-03-02T21:00:00+00:00", True),
        ("2026-03-02T23:30:00+00:00", True),
        ("2026-03-03T05:59:59+00:00", True),
        ("2026-03-03T06:00:00+00:00", False),
        ("2026-03-29T04:59:00+00:00", True),
        ("2026-03-29T05:00:00+00:00", False),
        ("2026-10-24T20:00:00+00:00", True),
        ("2026-10-25T05:59:00+00:00", True),
        ("2026-10-25T06:00:00+00:00", False),
    ],
)
def test_quiet_hours_pass_midnight_and_follow_the_clock_on_the_wall_over_a_change_of_time(
    moment: str, quiet: bool
) -> None:
    assert QuietHours(**BERLIN).hold(datetime.fromisoformat(moment)) is quiet


def test_quiet_hours_within_a_day_and_those_that_are_none() -> None:
    lunch = QuietHours("12:00", "13:00")
    assert [lunch.hold(datetime(2026, 3, 2, h, 30, tzinfo=UTC)) for h in (11, 12, 13)] == [False, True, False]
    for start, end, zone in (("12:00", "12:00", "UTC"), ("12:00", "13:00", "Nowhere/Here")):
        with pytest.raises(ValueError, match=r"must differ|time zone"):
            QuietHours(start, end, zone)


def test_hostile_text_is_one_printable_line_of_a_bounded_length(world: World) -> None:
    id_ = world.receiver()
    named = world.registered("a\x1b[2Jb\nc\u202e" + "x" * 150)
    world.notify("\x07" + "y" * 9000, database=named, why="\x1b]0;owned\x07", deep={"a\nb": ["\x00z"] * 1000})
    (kept,) = world.log(id_)
    assert kept.text.isprintable()
    assert len(kept.text) == 2000
    assert (kept.facts["why"], kept.facts["deep"]["a b"]) == ("?]0;owned?", ["?z"] * 100)


def messages(service: Service, receiver: str) -> list[Delivery]:
    return service.store.read(lambda u: u.deliveries.listed(receiver, 500, None))[::-1]


def added(service: Service) -> str:
    body = {"name": "on call", "kind": "webhook", "target": "http://127.0.0.1:9/x"}
    id_: str = service.take("POST", "/v1/receivers", body)["id"]
    return id_


def test_what_happens_to_a_change_is_told_with_its_settings_and_the_command_that_shows_it(
    service: Service, agent: Agent
) -> None:
    receiver = added(service)
    made = applied(service, agent)
    agent.send(agent.report(events=[guard_event(agent, made)]))
    agent.send(agent.report(events=[guard_event(agent, made)]))
    told = messages(service, receiver)
    assert [m.kind for m in told] == ["applied", "guard"], "an event that is reported twice is told once"
    assert told[0].text == (
        f"shop: a change was applied by agent agent1: work_mem 4MB → 8MB: `lutra show {made['id']}`"
    )
    assert told[0].facts["link"] == f"/v1/recommendations/{made['id']}"
    assert "p99_ms@histogram is 60 for 30 s, bound 25" in told[1].text


def test_a_gain_that_no_longer_holds_is_told_by_the_table_alone(service: Service, agent: Agent) -> None:
    receiver = added(service)
    made = applied(service, agent)

    def lost(unit: UnitOfWork) -> None:
        told = {"why": "p99 is 14 ms again"}
        audit.record(unit, "recommendation.gain_lost", made["id"], None, told, database_id=agent.database, by="service")

    service.store.write(lost)
    last = messages(service, receiver)[-1]
    assert (last.kind, "the gain of a change no longer holds: p99 is 14 ms again" in last.text) == ("gain_lost", True)


def test_a_silent_agent_is_told_once_and_once_more_when_it_is_back(service: Service, agent: Agent) -> None:
    receiver = added(service)
    agent.send()
    silence = Silence(datetime.now(UTC) - timedelta(days=1))
    silence.check(service.store)
    assert messages(service, receiver) == []
    silent_for(service, agent, minutes=6)
    Silence(datetime.now(UTC)).check(service.store)
    assert messages(service, receiver) == [], "the service itself has just begun"
    for _ in range(3):
        silence.check(service.store)
    assert [m.kind for m in messages(service, receiver)] == ["agent_silent"]
    agent.send()
    for _ in range(3):
        silence.check(service.store)
    assert [m.kind for m in messages(service, receiver)] == ["agent_silent", "agent_back"]


def test_settings_that_somebody_changed_are_told_also_where_they_return_to_known_ones(
    service: Service, agent: Agent
) -> None:
    receiver = added(service)
    agent.mode, agent.brief = "reload_only", True
    agent.send()
    for value in ("8192", "4096"):
        agent.apply({"work_mem": value})
        agent.send()
        agent.send()
    first, second = messages(service, receiver)
    assert (first.kind, first.facts["changes"]) == ("drift", {"work_mem": ["4MB", "8MB"]})
    assert (second.facts["changes"], second.facts["by"]) == ({"work_mem": ["8MB", "4MB"]}, audit.BY_HAND)


def test_a_change_of_lutras_own_and_its_undo_are_no_drift(service: Service, agent: Agent) -> None:
    receiver = added(service)
    made = applied(service, agent)
    agent.apply({"work_mem": "4096"})
    agent.send(agent.report(outcomes=[agent.outcome(made, "reverted", code="guardrail", message="p99")]))
    assert [m.kind for m in messages(service, receiver)] == ["applied", "reverted"]


def test_writing_notices_for_twenty_receivers_costs_a_fixed_number_of_statements(world: World) -> None:
    """A thousand events in one transaction; the time is printed, and asserted nowhere."""
    for count in (0, 20):
        for n in range(count):
            world.receiver(f"number {n}")
        began = time.perf_counter()
        world.store.write(lambda unit: [_event(unit, world.database, n) for n in range(1000)])
        print(f"{count} receivers: {(time.perf_counter() - began):.2f} ms an event")
    assert world.store.read(lambda u: u.deliveries.count_waiting()) == 20_000


def _event(unit: UnitOfWork, database: str, n: int) -> None:
    told = {"message": f"p99 is {n}"}
    audit.record(unit, "guard.fire", f"ev_{n}", None, told, database_id=database, by=audit.guard("p99"))
