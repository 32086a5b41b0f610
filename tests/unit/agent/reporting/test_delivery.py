"""How reports reach the service: in order, in batches, past what it cannot digest, and not all at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.errors import NotAdmitted, ServiceFailed, ServiceRefused, ServiceUnavailable
from lutra_agent.reporting.conversation import (
    BATCH_REPORTS,
    FIRST_S,
    HELD_AT_ONCE,
    HELD_S,
    LONGEST_S,
    PATIENCE_S,
    TRIES,
    Backoff,
    Conversation,
    Delivery,
)
from lutra_agent.reporting.spool import Spool
from lutra_models.wire import Directive, Receipt

from tests.support.fakes.clock import FakeClock


class Service:
    """Takes each report in `takes_s`; `fails` at some, `refuses` some; `away` is an error that it gives to all."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.accepted: list[bytes] = []
        self.asked: list[bytes] = []
        self.fails: set[bytes] = set()
        self.refuses: set[bytes] = set()
        self.away: Exception | None = None
        self.takes_s = 0.0

    def send(self, body: bytes) -> Receipt:
        self.asked.append(body)
        self.clock.sleep(self.takes_s)
        if self.away is not None:
            raise self.away
        if body in self.fails:
            raise ServiceFailed("500 internal_error")
        if body in self.refuses:
            raise ServiceRefused("422 invalid_report")
        self.accepted.append(body)
        return Receipt()

    def directive(self, wait_s: float, agent: str, epoch: str) -> Directive | None:
        if self.away is not None:
            raise self.away
        return None


class Scene:
    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.service = Service(self.clock)
        self.folder = folder
        self.spool = Spool(folder)
        self.restart()

    def restart(self) -> None:
        self.conversation = Conversation("agent1", self.spool, self.service, self.clock.monotonic, lambda: 0.0)  # type: ignore[arg-type]

    def fill(self, count: int) -> list[bytes]:
        return [f"report {self.spool.append(lambda n: f'report {n}'.encode())}".encode() for _ in range(count)]

    def after(self, seconds: float, reporting: bool = False) -> None:
        """Time goes by, in which the agent sends as often as it may; `reporting`: and makes more reports."""
        end = self.clock.seconds + seconds
        while self.clock.seconds < end:
            self.fill(int(reporting))
            self.clock.sleep(min(self.conversation.send_in_s or 10.0, end - self.clock.seconds))
            self.conversation.send()

    def held(self) -> list[bytes | None]:
        return [self.spool.read(sequence) for sequence in self.spool.held()]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_reports_are_sent_in_order_and_once(scene: Scene) -> None:
    reports = scene.fill(12)
    assert scene.conversation.send() is not None
    assert scene.service.accepted == reports
    assert (len(scene.spool), scene.conversation.send(), scene.conversation.send_in_s) == (0, None, None)


def test_what_was_accepted_before_the_service_went_away_is_not_sent_again(scene: Scene) -> None:
    reports = scene.fill(3)
    scene.service.away = ServiceUnavailable("503")
    assert scene.conversation.send() is None
    scene.service.away = None
    scene.conversation.send()
    assert scene.service.accepted == reports


def test_the_newest_answer_counts_even_where_the_service_goes_away_in_between(scene: Scene) -> None:
    scene.fill(3)
    scene.service.fails = {b"report 2"}
    assert scene.conversation.send() is not None
    assert scene.service.accepted == [b"report 0", b"report 1"]


def test_a_refused_report_is_moved_aside_and_the_next_is_sent(scene: Scene) -> None:
    scene.fill(3)
    scene.service.refuses = {b"report 1"}
    scene.conversation.send()
    assert scene.service.accepted == [b"report 0", b"report 2"]
    assert (scene.spool.refused, len(scene.spool)) == (1, 0)


@pytest.mark.slow
def test_a_backlog_is_sent_in_batches_of_a_number_in_order(scene: Scene) -> None:
    reports = scene.fill(2 * BATCH_REPORTS + 1)
    scene.conversation.send()
    assert scene.service.accepted == reports[:BATCH_REPORTS]
    assert scene.conversation.send_in_s == 0
    scene.conversation.send()
    scene.conversation.send()
    assert scene.service.accepted == reports


def test_a_slow_service_gets_a_batch_of_some_seconds(scene: Scene) -> None:
    scene.fill(BATCH_REPORTS)
    scene.service.takes_s = 4.0
    scene.conversation.send()
    assert len(scene.service.accepted) == 3


def test_a_report_that_the_service_fails_at_lets_later_ones_pass_after_a_while(scene: Scene) -> None:
    reports = scene.fill(5)
    scene.service.fails = {reports[1]}
    scene.after(PATIENCE_S - 1)
    assert scene.service.accepted == reports[:1]
    assert scene.service.asked.count(reports[1]) >= TRIES
    scene.after(2 * LONGEST_S)
    assert sorted(scene.service.accepted) == sorted([reports[0], *reports[2:]])
    assert (scene.held(), len(scene.spool)) == ([reports[1]], 0)


def test_a_held_report_is_counted_and_named_among_the_problems(scene: Scene) -> None:
    assert scene.conversation.problems == []
    scene.service.fails = set(scene.fill(2)[:1])
    scene.after(PATIENCE_S + LONGEST_S)
    [problem] = scene.conversation.problems
    assert "1 reports" in problem
    assert "spool/held" in problem
    assert "500 internal_error" in problem


@pytest.mark.parametrize("error", [ServiceFailed("500 internal_error"), ServiceUnavailable("502"), NotAdmitted("401")])
def test_a_service_that_takes_nothing_holds_no_report_to_blame(scene: Scene, error: Exception) -> None:
    reports = scene.fill(3)
    scene.service.away = error
    scene.after(50 * PATIENCE_S)
    assert (scene.held(), scene.spool.refused, len(scene.spool)) == ([], 0, 3)
    scene.service.away = None
    scene.after(LONGEST_S)
    assert scene.service.accepted == reports


def test_a_report_is_not_held_where_no_later_one_shows_that_the_service_works(scene: Scene) -> None:
    [poison] = scene.fill(1)
    scene.service.fails = {poison}
    scene.after(3 * PATIENCE_S)
    assert scene.held() == []
    later = scene.fill(1)
    scene.after(LONGEST_S)
    assert (scene.held(), scene.service.accepted) == ([poison], later)


def test_a_proxys_error_never_holds_a_report(scene: Scene) -> None:
    reports = scene.fill(2)
    scene.service.away = ServiceUnavailable("502 Bad Gateway")
    scene.after(3 * PATIENCE_S)
    scene.service.away = None
    scene.after(LONGEST_S)
    assert scene.service.accepted == reports


@pytest.mark.slow
def test_many_reports_that_the_service_fails_at_do_not_each_stop_the_others_for_long(scene: Scene) -> None:
    reports = scene.fill(40)
    scene.service.fails = set(reports[:30])
    scene.after(PATIENCE_S + 30 * 2 * LONGEST_S, reporting=True)
    assert set(reports[30:]) < set(scene.service.accepted)
    assert len(scene.held()) == 30


@pytest.mark.slow
def test_held_reports_are_tried_again_now_and_then_and_all_in_turn(scene: Scene) -> None:
    reports = scene.fill(2 * HELD_AT_ONCE + 1)
    scene.service.fails = set(reports[:-1])
    scene.after(HELD_S / 2, reporting=True)
    assert len(scene.held()) == 2 * HELD_AT_ONCE
    scene.service.fails = set(reports[:HELD_AT_ONCE])
    for _ in range(3):
        scene.clock.sleep(HELD_S + 1)
        scene.service.asked.clear()
        later = scene.fill(1)
        scene.conversation.send()
        assert len(scene.service.asked) == HELD_AT_ONCE + 1
        assert later[0] in scene.service.accepted
    assert scene.held() == reports[:HELD_AT_ONCE]


def test_a_held_report_that_is_finally_refused_is_moved_to_the_refused(scene: Scene) -> None:
    poison, _ = scene.fill(2)
    scene.service.fails = {poison}
    scene.after(PATIENCE_S + LONGEST_S)
    scene.service.fails, scene.service.refuses = set(), {poison}
    scene.clock.sleep(HELD_S)
    scene.fill(1)
    scene.conversation.send()
    assert (scene.held(), scene.spool.refused, scene.conversation.problems) == ([], 1, [])


def test_an_agent_that_starts_again_tries_its_held_reports_with_the_first_batch(scene: Scene) -> None:
    poison, _ = scene.fill(2)
    scene.service.fails = {poison}
    scene.after(PATIENCE_S + LONGEST_S)
    scene.restart()
    scene.service.fails = set()
    scene.fill(1)
    scene.conversation.send()
    assert (scene.held(), scene.service.accepted[-1]) == ([], poison)


@pytest.mark.slow
def test_reports_wait_for_an_operator_to_renew_a_token_and_the_problem_is_named_until_then(scene: Scene) -> None:
    reports = scene.fill(2)
    scene.service.away = NotAdmitted("POST /v1/databases/db_1/reports: 404 not_found")
    scene.after(24 * 3600)
    assert (len(scene.spool), scene.spool.refused) == (2, 0)
    assert scene.conversation.problems == ["POST /v1/databases/db_1/reports: 404 not_found"]
    scene.service.away = None
    scene.after(LONGEST_S)
    assert (scene.service.accepted, scene.conversation.problems) == (reports, [])


def test_a_service_that_asks_to_wait_is_not_asked_before(scene: Scene) -> None:
    scene.fill(1)
    scene.service.away = ServiceUnavailable("429 too_many", retry_after_s=300.0)
    scene.conversation.send()
    scene.conversation.ask(1)
    assert (scene.conversation.send_in_s, scene.conversation.ask_in_s) == (300, 300)


def test_a_failure_to_ask_does_not_hold_up_the_reports(scene: Scene) -> None:
    scene.service.away = ServiceRefused("409")
    assert scene.conversation.ask(1) is None
    scene.fill(1)
    assert scene.conversation.send_in_s == 0
    assert scene.conversation.ask_in_s > 0


@pytest.mark.parametrize("chance", [0.0, 0.4, 1.0])
def test_tries_are_farther_and_farther_apart_up_to_a_bound_and_begin_again_after_a_success(chance: float) -> None:
    clock = FakeClock()
    backoff, pauses = Backoff(clock.monotonic, lambda: chance), []
    for _ in range(2000):
        backoff.failed()
        pauses.append(backoff.left_s)
    assert pauses == sorted(pauses)
    assert FIRST_S / 2 <= pauses[0] <= FIRST_S
    assert LONGEST_S / 2 <= pauses[-1] <= LONGEST_S
    backoff.worked()
    assert backoff.left_s == 0


def test_two_agents_do_not_come_back_at_the_same_moment() -> None:
    pauses = []
    for chance in (0.1, 0.9):
        backoff = Backoff(FakeClock().monotonic, lambda chance=chance: chance)  # type: ignore[misc]
        backoff.failed(retry_after_s=60)
        pauses.append(backoff.left_s)
    assert min(pauses) >= 60
    assert pauses[0] != pauses[1]


def test_a_delivery_ends_where_the_service_goes_away_and_keeps_the_rest(tmp_path: Path) -> None:
    spool, clock = Spool(tmp_path), FakeClock()
    service = Service(clock)
    for _ in range(3):
        spool.append(lambda n: b"%d" % n)
    service.away = ServiceUnavailable("gone")
    with pytest.raises(ServiceUnavailable):
        list(Delivery(spool, service.send, clock.monotonic).batch())
    assert spool.waiting() == [0, 1, 2]
