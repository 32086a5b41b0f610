"""The weekly summary is sent to each receiver once, at eight o'clock on Monday, whoever is up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread

import pytest
from lutra_service.app.databases import registration
from lutra_service.app.notices import receivers
from lutra_service.app.notices.outbox import LONGEST_TEXT
from lutra_service.app.observations import week, week_notice, week_words
from lutra_service.app.tuning.consequences.follow import follow
from lutra_service.db.schema.notices import Delivery
from lutra_service.db.store import Store, UnitOfWork

from tests.support.service.application import engine_of
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.slow
MONDAY = datetime(2026, 3, 30, 8, tzinfo=UTC)
MINUTE, DAY, WEEK = timedelta(minutes=1), timedelta(days=1), timedelta(days=7)


class Clock:
    now = MONDAY - DAY


class Fleet:
    """A store whose clock a test moves, with a database; `store` is that of another process, or after a restart."""

    def __init__(self, url: str) -> None:
        self.url, self.clock, self.stores = url, Clock(), list[Store]()
        self.store = self.another_store()
        self.store.write(lambda u: registration.register(u, "shop", "postgresql", {}, "sales"))

    def another_store(self) -> Store:
        clock = self.clock
        made = Store(engine_of(self.url), clock=lambda: clock.now, follow=follow)
        self.stores.append(made)
        return made

    def receiver(self, name: str, **wishes: object) -> str:
        target = "https://hooks.example.com/x"
        return self.store.write(lambda u: receivers.create(u, name, "webhook", target, **wishes)).id

    def turn(self, now: datetime, store: Store | None = None) -> None:
        self.clock.now = now
        week_notice.send(store or self.store)

    def sent(self, receiver: str) -> list[Delivery]:
        """The oldest first."""
        return self.store.read(lambda u: u.deliveries.listed(receiver, 100, None))[::-1]


@pytest.fixture
def fleet(url: str) -> Iterator[Fleet]:
    made = Fleet(url)
    yield made
    for store in made.stores:
        store.close()


def test_a_summary_is_sent_once_each_monday_from_eight_o_clock_on(fleet: Fleet) -> None:
    receiver = fleet.receiver("all")
    moments = [MONDAY - MINUTE, MONDAY, MONDAY + MINUTE, MONDAY + DAY - MINUTE, MONDAY + 3 * DAY, MONDAY + WEEK]
    counts = []
    for moment in moments:
        fleet.turn(moment)
        counts.append(len(fleet.sent(receiver)))
    assert counts == [0, 1, 1, 1, 1, 2]
    first = fleet.sent(receiver)[0]
    assert (first.kind, first.database_id, first.at) == ("summary", None, MONDAY)
    assert first.text.splitlines()[:2] == [
        "2026-03-23 to 2026-03-30 (UTC), against the 7 days before",
        "1 database; no harmful findings",
    ]
    assert first.text.splitlines()[-1] == "details: `lutra summary`"


def test_a_service_that_was_down_sends_it_within_the_day_and_not_later(fleet: Fleet) -> None:
    receiver = fleet.receiver("all")
    fleet.turn(MONDAY + DAY)
    assert not fleet.sent(receiver)
    fleet.turn(MONDAY + WEEK + DAY - MINUTE)
    assert [d.at for d in fleet.sent(receiver)] == [MONDAY + WEEK + DAY - MINUTE]


def test_a_restarted_service_does_not_send_it_again_even_without_the_log(fleet: Fleet) -> None:
    receiver = fleet.receiver("all")
    fleet.turn(MONDAY)
    fleet.store.write(lambda u: u.deliveries.remove_all(receiver))
    fleet.turn(MONDAY + MINUTE, fleet.another_store())
    assert not fleet.sent(receiver)


def test_of_several_processes_at_the_same_moment_one_sends_it(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [fleet.receiver(f"r{n}") for n in range(3)]
    fleet.clock.now = MONDAY
    meet, notice = Barrier(3), week_words.notice

    def together(summary: dict[str, object]) -> str:
        meet.wait(PATIENCE_S)
        return notice(summary)

    monkeypatch.setattr(week_words, "notice", together)
    threads = [Thread(target=week_notice.send, args=(fleet.another_store(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(fleet.sent(id_)) for id_ in ids] == [1, 1, 1]


def test_only_receivers_of_this_kind_without_limits_get_it_and_a_new_one_waits_for_a_week(fleet: Fleet) -> None:
    expected = {
        fleet.receiver("summaries", kinds=["summary"]): 1,
        fleet.receiver("guards", kinds=["guard"]): 0,
        fleet.receiver("sales", labels=["sales"]): 0,
    }
    fleet.turn(MONDAY)
    fleet.clock.now += MINUTE
    expected[fleet.receiver("new")] = 0
    fleet.turn(MONDAY + 2 * MINUTE)
    assert {id_: len(fleet.sent(id_)) for id_ in expected} == expected
    fleet.turn(MONDAY + WEEK)
    assert len(fleet.sent([*expected][-1])) == 1


def test_without_a_receiver_nothing_is_computed(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("computed for nobody")

    monkeypatch.setattr(week, "summary", refused)
    fleet.receiver("guards", kinds=["guard"])
    fleet.turn(MONDAY)


def test_texts_from_outside_stay_on_their_line_and_the_notice_is_short(fleet: Fleet) -> None:
    receiver = fleet.receiver("all")

    def register(unit: UnitOfWork) -> None:
        for n in range(60):
            registration.register(unit, f"evil{n} \x1b[2J" + "\n" * 3 + "x" * 150, "postgresql", {}, None)

    fleet.store.write(register)
    fleet.turn(MONDAY)
    text = fleet.sent(receiver)[0].text
    assert len(text) <= LONGEST_TEXT
    assert all(line.isprintable() for line in text.split("\n"))
    assert "58 more databases" in text.split("\n")
    assert "agents that were silent: 50 or more" in text.split("\n")
    assert text.endswith("details: `lutra summary`")
