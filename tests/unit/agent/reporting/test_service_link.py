"""The thread that talks to the service, over real sockets, beside a loop whose clock the test moves."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lutra_agent.clock import SystemClock
from lutra_agent.config.types import ServiceConfig
from lutra_agent.reporting import service_link
from lutra_agent.reporting.conversation import Conversation
from lutra_agent.reporting.service_link import News, ThreadedLink
from lutra_agent.reporting.spool import Spool
from lutra_agent.reporting.transport import Transport
from lutra_agent.state.store import State
from lutra_models.wire import Directive, Receipt

from tests.support.agent.loops import WATCHED, Bench, bench, linked, outcomes, turn
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.service import FakeService, serving
from tests.support.waiting import PATIENCE_S

A_MOMENT_S = 0.01


class Hurried:
    """A link for a loop under a fake clock: waiting takes the clock's time, and a moment in truth."""

    def __init__(self, link: ThreadedLink, clock: FakeClock) -> None:
        self._link = link
        self._clock = clock
        self.send, self.sent = link.send, link.sent

    @property
    def problems(self) -> list[str]:
        return self._link.problems

    def wait(self, seconds: float, ask: bool) -> News:
        self._clock.sleep(seconds)
        return self._link.wait(A_MOMENT_S, ask)


@contextmanager
def link_to(url: str, spool: Spool) -> Iterator[ThreadedLink]:
    transport = Transport(ServiceConfig(url, "db_1"), "lutra_token")
    link = ThreadedLink(Conversation("agent1", spool, transport, time.monotonic), SystemClock())
    link.start()
    try:
        yield link
    finally:
        link.close()


@pytest.fixture
def service() -> Iterator[FakeService]:
    with serving(FakeService()) as found:
        yield found
        found.dripping.clear()


def changed(folder: Path) -> Bench:
    """A database with a baseline, and a change that is not confirmed yet."""
    made = bench(folder, "reload_only", with_driver=False, guarding=WATCHED)
    turn(made, 6)
    made.offer({"work_mem": 8192}, restart_allowed=False)
    turn(made, 2)
    assert [o.state for o in outcomes(made)] == ["applied"]
    return made


@pytest.mark.slow
@pytest.mark.parametrize("hurts", [True, False], ids=["guard", "not confirmed in time"])
def test_a_change_is_taken_back_while_the_services_answer_is_still_dripping(
    tmp_path: Path, service: FakeService, hurts: bool
) -> None:
    service.dripping.set()
    made = changed(tmp_path)
    if hurts:
        made.engine.p99_ms = 60.0
    with link_to(service.url, made.spool) as link:
        live = linked(made, Hurried(link, made.clock))
        turn(live)
        assert service.dripped.wait(PATIENCE_S)
        for _ in range(32):
            live.engine.commits += 500 if hurts else 0
            if not hurts:
                live.engine.epoch = f"another {live.clock.seconds}"
            live.loop.cycle()
        assert live.engine.settings["work_mem"].value == "4096"
        assert not service.reports
        service.dripping.clear()
        assert link.sent(PATIENCE_S)
    told = [o for r in service.reports for o in r.outcomes]
    assert [(o.directive, o.state) for o in told] == [("rec_1", "reverted")]


def test_a_change_is_taken_back_while_the_service_holds_the_question_for_a_directive(
    tmp_path: Path, service: FakeService
) -> None:
    asked, release = threading.Event(), threading.Event()

    def hold(seconds: float) -> None:
        asked.set()
        release.wait(PATIENCE_S)

    service.wait_for = hold  # type: ignore[method-assign,assignment]
    made = changed(tmp_path)
    with link_to(service.url, made.spool) as link:
        live = linked(made, Hurried(link, made.clock))
        while not asked.is_set():
            link.wait(
                A_MOMENT_S, ask=True
            )  # the loop's own clock stands still: however long it takes, nothing is confirmed
        live.engine.p99_ms = 60.0
        turn(live, 8)
        assert live.engine.settings["work_mem"].value == "4096"
        assert not release.is_set()
        release.set()
        assert link.sent(PATIENCE_S)


def test_a_directive_wakes_the_loop(tmp_path: Path, service: FakeService) -> None:
    with link_to(service.url, Spool(tmp_path)) as link:
        timer = threading.Timer(0.1, service.offer, ("rec_1", {"work_mem": 8192}))
        timer.start()
        directive = link.wait(PATIENCE_S, ask=True).directive
        timer.join()
    assert directive is not None
    assert directive.id == "rec_1"


def test_the_answer_to_a_report_brings_rules_wishes_and_the_directive(tmp_path: Path, service: FakeService) -> None:
    service.settings_wanted = True
    service.offer("rec_1", {"work_mem": 8192})
    made = bench(tmp_path, "reload_only", with_driver=False)
    made.line.away = True
    turn(made)
    with link_to(service.url, made.spool) as link:
        assert link.sent(PATIENCE_S)
        news = link.wait(PATIENCE_S, ask=False)
    assert (news.directive and news.directive.id, news.settings_wanted, news.rules is not None) == ("rec_1", True, True)


class Scripted:
    """A conversation whose every word a test gives."""

    problems: tuple[str, ...] = ()
    ask_in_s = 0.0

    def __init__(self) -> None:
        self.waiting = 0
        self.receipts: list[Receipt] = []
        self.asked = 0
        self.breaks = False
        self.meanwhile: Callable[[], object] = list

    @property
    def send_in_s(self) -> float | None:
        return 0.0 if self.waiting else None

    def send(self) -> Receipt | None:
        if self.breaks:
            self.breaks = False
            raise RuntimeError("a bug")
        self.waiting -= 1
        self.meanwhile()
        return self.receipts.pop(0) if self.receipts else None

    def ask(self, wait_s: float) -> Directive | None:
        self.asked += 1
        return None

    def end(self) -> None:
        return None

    def close(self) -> None:
        return None


class Turning(FakeClock):
    """Whoever waits lets the link have as many turns as it wants meanwhile, on the same thread."""

    link: ThreadedLink

    def wait_for(self, condition: threading.Condition, done: Callable[[], bool], seconds: float) -> bool:
        end = self.seconds + seconds
        while not done() and self.seconds < end:
            self.seconds += max(min(self.link.turn(), end - self.seconds), 0.001)
        return done()


def scripted(clock: FakeClock | None = None) -> tuple[ThreadedLink, Scripted]:
    """A link whose thread has not begun: each turn is the test's."""
    script = Scripted()
    return ThreadedLink(script, clock or SystemClock()), script  # type: ignore[arg-type]


def turning() -> tuple[ThreadedLink, Scripted]:
    clock = Turning()
    clock.link, script = scripted(clock)
    return clock.link, script


def directive(identifier: str = "rec_1") -> Directive:
    return FakeService().offer(identifier, {"work_mem": 8192})


def test_a_directive_that_the_loop_took_does_not_come_again_before_its_answer_was_sent() -> None:
    link, script = scripted()
    script.waiting, script.receipts = 3, [Receipt(directive=directive()) for _ in range(3)]
    link.turn()
    assert link.wait(0, ask=False).directive is not None
    link.turn()  # the loop is still at work
    assert link.wait(0, ask=False).directive is None
    link.turn()  # the answer was in the spool, and the service offers it all the same
    assert link.wait(0, ask=False).directive is not None


def test_a_directive_taken_while_reports_are_sent_does_not_come_again_with_their_answer() -> None:
    link, script = scripted()
    script.waiting, script.receipts = 2, [Receipt(directive=directive()) for _ in range(2)]
    link.turn()
    script.meanwhile = lambda: link.wait(0, ask=False)
    link.turn()
    assert link.wait(0, ask=False).directive is None


def test_another_directive_comes_at_once() -> None:
    link, script = scripted()
    script.waiting, script.receipts = 2, [Receipt(directive=directive(n)) for n in ("rec_1", "rec_2")]
    for identifier in ("rec_1", "rec_2"):
        link.turn()
        found = link.wait(0, ask=False).directive
        assert found is not None
        assert found.id == identifier


def test_the_latest_word_of_the_service_counts() -> None:
    link, script = scripted()
    script.waiting, script.receipts = 2, [Receipt(directive=directive(), settings_wanted=True), Receipt()]
    link.turn()
    link.turn()
    assert link.wait(0, ask=False) == News(None, Receipt().rules, False)


def test_a_service_that_never_waits_is_asked_once_per_wait() -> None:
    link, script = turning()
    link.wait(0.2, ask=True)
    assert script.asked == 1


def test_a_backlog_gives_way_to_a_question_only_once_it_is_sent() -> None:
    link, script = turning()
    script.waiting = 50
    link.wait(0.2, ask=True)
    assert (script.waiting, script.asked) == (0, 1)


def test_an_error_of_the_links_own_does_not_end_it() -> None:
    link, script = scripted()
    script.breaks = True
    script.waiting, script.receipts = 1, [Receipt(directive=directive())]
    link.start()
    assert link.wait(PATIENCE_S, ask=False).directive is not None
    link.close()


def test_a_link_whose_exchange_hangs_is_closed_and_leaves_the_spool_alone(
    tmp_path: Path, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_link, "END_S", PATIENCE_S)
    service.dripping.set()
    spool = Spool(tmp_path)
    spool.append(lambda sequence: b"report")
    with link_to(service.url, spool) as link:
        link.send()
        assert service.dripped.wait(PATIENCE_S)
    assert not link._thread.is_alive()
    assert Spool(tmp_path).waiting() == [0]


def test_a_directive_that_expired_before_the_loop_read_it_is_refused(tmp_path: Path) -> None:
    made = bench(tmp_path, "reload_only", with_driver=False)
    turn(made, 4)
    made.offer({"work_mem": 8192})
    made.clock.sleep(3601)
    turn(made, 2)
    assert [(o.state, o.code) for o in outcomes(made)] == [("refused", "expired")]


def test_a_paused_agent_refuses_what_the_link_brings(tmp_path: Path, service: FakeService) -> None:
    made = bench(tmp_path, "reload_only", with_driver=False)
    turn(made, 4)
    State(tmp_path / "state").pause()
    service.offer("rec_1", {"work_mem": 8192})
    with link_to(service.url, made.spool) as link:
        live = linked(made, Hurried(link, made.clock))
        while not service.outcome("rec_1"):
            turn(live)
    assert service.outcome("rec_1").code == "paused"
    assert sum(o.directive == "rec_1" for r in service.reports for o in r.outcomes) == 1
