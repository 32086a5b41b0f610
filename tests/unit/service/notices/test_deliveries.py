"""What is told reaches its receivers once, in order, however they behave."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from lutra_service.app.errors import Conflict
from lutra_service.app.notices import receivers
from lutra_service.app.notices.channels import Answer
from lutra_service.app.notices.courier import GIVEN_UP_AFTER, LONGEST_PAUSE_S, CourierThread
from lutra_service.app.notices.messages import TOGETHER
from lutra_service.app.notices.outbox import notify
from lutra_service.app.retention.policy import prune
from lutra_service.common.settings import Settings
from lutra_service.db.schema.notices import Receiver
from lutra_service.db.store import UnitOfWork

from tests.support.waiting import until
from tests.unit.service.notices.conftest import DOWN, FINE, LEASE_S, SERVER_ERROR, World

pytestmark = pytest.mark.slow


def test_a_notice_reaches_its_receiver_once_and_is_in_its_log(world: World) -> None:
    id_ = world.receiver()
    world.notify("a change was applied")
    world.deliver()
    world.deliver(world.another_courier())
    assert world.texts == ["shop: a change was applied"]
    (kept,) = world.log(id_)
    assert (kept.state, kept.attempts, kept.status, kept.error) == ("delivered", 1, 204, None)


def test_nothing_is_told_of_a_transaction_that_was_not_committed(world: World) -> None:
    world.receiver()

    def fails(unit: UnitOfWork) -> None:
        notify(unit, "applied", world.database, "it happened")
        raise Conflict("it did not")

    with pytest.raises(Conflict):
        world.store.write(fails)
    world.deliver()
    assert world.heard == []


def test_a_process_killed_between_the_event_and_its_delivery_leaves_it_to_the_next_one_which_tells_it_once(
    world: World,
) -> None:
    id_ = world.receiver()
    world.notify()
    dies = world.another_courier()
    dies.serve = lambda _: False  # type: ignore[method-assign]
    world.deliver(dies)
    world.deliver(world.another_courier())
    assert (len(world.heard), world.log(id_)[0].state) == (1, "delivered")


def test_a_process_killed_while_it_sends_is_followed_after_its_lease_by_the_same_message_under_the_same_id(
    world: World,
) -> None:
    id_ = world.receiver()
    world.notify("first")
    killed = world.another_courier()
    claimed = world.store.write(lambda u: killed._claim(u, id_))
    assert claimed is not None
    world.notify("later", times=TOGETHER + 5)
    world.deliver()
    assert world.heard == [], "its lease has not ended"
    world.now += timedelta(seconds=LEASE_S + 1)
    world.deliver()
    (_, first), *rest = world.heard
    assert (first.id, first.text, first.attempts) == (claimed[1].id, "shop: first", 2)
    assert [m.kind for _, m in rest] == ["digest"], "what may have arrived is in no digest"


def test_two_processes_tell_a_receiver_one_message_at_a_time(world: World) -> None:
    id_ = world.receiver()
    world.notify(times=2)
    one, other = world.another_courier(), world.another_courier()
    assert world.store.write(lambda u: one._claim(u, id_)) is not None
    assert world.store.write(lambda u: other._claim(u, id_)) is None


def test_a_receiver_that_is_down_for_an_hour_is_told_all_of_it_afterwards_once_and_in_order(world: World) -> None:
    id_ = world.receiver()
    world.answers["on call"] = DOWN
    for n in range(4):
        world.notify(f"number {n}")
        world.pass_time(minutes=15)
    assert world.heard == []
    world.answers["on call"] = FINE
    world.pass_time(seconds=LONGEST_PAUSE_S * 1.2)
    assert world.texts == [f"shop: number {n}" for n in range(4)]
    assert {d.state for d in world.log(id_)} == {"delivered"}


def test_a_receiver_that_answers_500_is_tried_for_a_day_ever_less_often_then_given_up(world: World) -> None:
    id_ = world.receiver()
    world.answers["on call"] = SERVER_ERROR
    world.notify()
    world.deliver()
    moments = [world.now]
    while world.log(id_)[0].state == "waiting":
        before = world.tries
        world.pass_time(step=timedelta(seconds=30), seconds=30)
        moments += [world.now] * (world.tries - before)
    gaps = [(b - a).total_seconds() for a, b in pairwise(moments)]
    (kept,) = world.log(id_)
    assert (kept.state, kept.status, kept.error) == ("failed", 500, "the receiver answered 500")
    assert kept.ended_at is not None
    assert kept.ended_at - kept.at >= GIVEN_UP_AFTER
    assert 40 < len(moments) < 80
    assert gaps[0] <= 30
    assert max(gaps) <= LONGEST_PAUSE_S * 1.2 + 30


def test_a_receiver_that_does_not_answer_delays_no_other(world: World) -> None:
    world.receiver("slow")
    world.receiver("quick")
    world.answers["slow"] = Answer(error="no answer within 10 s")
    world.notify(times=3)
    world.deliver()
    assert [name for name, _ in world.heard] == ["quick"] * 3


def test_a_receiver_that_hangs_holds_its_own_place_alone(world: World) -> None:
    for name in ("slow", "quick"):
        world.receiver(name)
    world.notify(times=3)
    released, heard = threading.Event(), list[str]()

    def send(receiver: Receiver, *_: object) -> Answer:
        if receiver.name == "slow":
            released.wait()
        heard.append(receiver.name)
        return FINE

    thread = CourierThread(world.store, Settings(sweep_s=0.05), send)
    thread.start()
    until(lambda: len(heard) == 3)
    assert heard == ["quick"] * 3
    released.set()
    until(lambda: len(heard) == 6)
    thread.stop()


def test_a_thousand_events_in_one_transaction_become_a_digest(world: World) -> None:
    id_ = world.receiver()
    other = world.registered("crm")
    world.notify("{n} fired", "guard", times=900)
    world.notify("{n} undone", "reverted", times=100, database=other)
    world.deliver()
    ((_, message),) = world.heard
    assert message.kind == "digest"
    assert message.facts["count"] == 1000
    assert message.facts["kinds"] == {"guard": 900, "reverted": 100}
    assert message.facts["databases"] == {"shop": 900, "crm": 100}
    assert message.facts["first"] == [f"shop: {n} fired" for n in range(5)]
    assert "900 guard, 100 reverted" in message.text
    assert Counter(d.state for d in world.log(id_)) == {"digested": 1000, "delivered": 1}
    assert {d.digest_id for d in world.log(id_) if d.state == "digested"} == {message.id}


def test_a_thousand_events_one_after_another_are_some_messages_and_a_digest_a_minute(world: World) -> None:
    world.receiver()
    for n in range(1000):
        world.notify(f"number {n}")
        world.deliver()
        world.now += timedelta(seconds=0.05)
    world.pass_time(minutes=2)
    told = [m.facts["count"] if m.kind == "digest" else 1 for _, m in world.heard]
    assert sum(told) == 1000
    assert len(told) <= 2 * TOGETHER + 2


def test_a_digest_that_does_not_arrive_is_repeated_as_it_was(world: World) -> None:
    id_ = world.receiver()
    world.notify("{n}", times=TOGETHER + 1)
    world.answers["on call"] = DOWN
    world.deliver()
    world.notify("{n} more", times=TOGETHER + 1)
    world.answers["on call"] = FINE
    world.pass_time(minutes=1)
    first, second = (m for _, m in world.heard)
    assert (first.kind, first.facts["count"], second.facts["count"]) == ("digest", TOGETHER + 1, TOGETHER + 1)
    assert first.id == next(d.id for d in world.log(id_) if d.kind == "digest")


def test_410_disables_the_receiver_and_drops_what_waits(world: World) -> None:
    id_ = world.receiver()
    world.notify(times=3)
    world.answers["on call"] = Answer(410, "the receiver answered 410")
    world.deliver()
    found = world.store.read(lambda u: u.receivers.get(id_))
    assert (found.enabled, "410" in str(found.disabled_because)) == (False, True)
    assert {d.state for d in world.log(id_)} == {"failed"}
    world.notify()
    assert len(world.log(id_)) == 3
    world.store.write(lambda u: receivers.change(u, id_, enabled=True))
    world.answers.clear()
    world.notify("again")
    world.deliver()
    assert world.texts == ["shop: again"]


def test_a_test_passes_what_waits_and_is_tried_once(world: World) -> None:
    id_ = world.receiver()
    world.answers["on call"] = DOWN
    world.notify("waits")
    world.deliver()
    first = world.store.write(lambda u: receivers.test(u, id_))
    world.deliver()
    assert world.store.read(lambda u: u.deliveries.get(first.id)).state == "failed"
    world.answers.clear()
    world.store.write(lambda u: receivers.test(u, id_))
    world.deliver()
    assert [m.kind for _, m in world.heard] == ["test", "applied"]


def test_a_deleted_receiver_leaves_nothing_and_its_last_answer_finds_nothing(world: World) -> None:
    id_ = world.receiver()
    world.notify(times=2)

    def deletes(*_: object) -> Answer:
        world.store.write(lambda u: receivers.delete(u, id_))
        return FINE

    courier = world.another_courier()
    courier._send = deletes
    world.deliver(courier)
    assert world.log(id_) == []


def test_the_log_is_pruned_and_what_waits_is_kept(world: World) -> None:
    id_ = world.receiver()
    world.notify("old")
    world.deliver()
    world.answers["on call"] = DOWN
    world.notify("waits")
    world.deliver()
    world.now += timedelta(days=15)
    assert prune(world.store, timedelta(days=14))["deliveries"] == 1
    assert [d.text for d in world.log(id_)] == ["shop: waits"]
