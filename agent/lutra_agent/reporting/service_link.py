"""The service, as the loop sees it: reports go out, news comes in, and the loop never waits for the network.

The conversation runs in a thread of its own. A service that answers byte by byte, or never, holds up that thread, but
no guardrail and no restore.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from typing import Protocol

from lutra_models.wire import Directive, Receipt, Rules

from lutra_agent.clock import Clock
from lutra_agent.reporting.conversation import Conversation
from lutra_agent.reporting.transport import LONGEST_POLL_S

END_S = 2.0
IDLE_S = 60.0
PAUSE_S = 1.0
"""The pause after an internal error of the link."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class News:
    """The service's latest answer: a directive, its rules if it sent any, and whether it requests the settings."""

    directive: Directive | None = None
    rules: Rules | None = None
    settings_wanted: bool = False


class ServiceLink(Protocol):
    @property
    def problems(self) -> list[str]:
        """Its problems that an operator should know."""
        ...

    def send(self) -> None:
        """The spool contains a new report."""
        ...

    def wait(self, seconds: float, ask: bool) -> News:
        """News: as soon as a directive is among them, otherwise after this number of seconds. `ask`: query the
        service.
        """
        ...

    def sent(self, within_s: float) -> bool:
        """Whether all reports in the spool were sent, or refused, within this number of seconds."""
        ...


class ThreadedLink:
    """Start it once, close it once. Messages that arrive while the loop is at work wait; the latest counts."""

    def __init__(self, conversation: Conversation, clock: Clock) -> None:
        self._conversation = conversation
        self._clock = clock
        self._changed = threading.Condition()
        self._news = News()
        self._taken: str | None = None
        self._answered = True
        self._ask_until: float | None = None
        self._next_ask = float("-inf")
        self._woken = False
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="service link", daemon=True)

    @property
    def problems(self) -> list[str]:
        return self._conversation.problems

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Bounded: an exchange that hangs is cut off, and a thread that still hangs ends with the process."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._conversation.end()
        self._thread.join(END_S)
        if not self._thread.is_alive():
            self._conversation.close()

    def send(self) -> None:
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def wait(self, seconds: float, ask: bool) -> News:
        with self._changed:
            self._answered = True
            self._ask_until = self._clock.monotonic() + seconds if ask else None
            self.send()
            try:
                self._clock.wait_for(self._changed, lambda: self._news.directive is not None, seconds)
            finally:
                self._ask_until = None
            news, self._news = self._news, News()
            if news.directive is not None:
                self._taken, self._answered = news.directive.id, False
            return news

    def sent(self, within_s: float) -> bool:
        self.send()
        with self._changed:
            return self._changed.wait_for(lambda: self._conversation.send_in_s is None, within_s)

    def _run(self) -> None:
        while not self._closed:
            try:
                rest_s = self.turn()
            except Exception:  # a link that ends would leave the agent without its service for good
                log.exception("the exchange with the service failed with an internal error of the agent")
                rest_s = PAUSE_S
            with self._changed:
                self._changed.wait_for(lambda: self._woken or self._closed, rest_s)

    def turn(self) -> float:
        """Talk to the service once, and return the time until the next exchange.

        Reports go first: the outcome of a directive arrives before the next one is requested.
        """
        with self._changed:
            self._woken, answered = False, self._answered
        receipt = self._conversation.send() if self._conversation.send_in_s == 0 else None
        self._received(receipt, answered)
        wait_s = 0.0 if self._conversation.send_in_s == 0 else self._may_ask_s()
        if wait_s > 0:
            self._next_ask = self._clock.monotonic() + wait_s
            self._found(self._conversation.ask(wait_s))
        return self._rest_s()

    def _received(self, receipt: Receipt | None, answered: bool) -> None:
        """`answered`: what came of the directive that the loop took was in the spool before this batch was sent."""
        with self._changed:
            if answered and self._answered and self._conversation.send_in_s is None:
                self._taken = None
            if receipt is not None:
                self._news = News(self._unless_taken(receipt.directive), receipt.rules, receipt.settings_wanted)
            self._changed.notify_all()

    def _found(self, directive: Directive | None) -> None:
        with self._changed:
            directive = self._unless_taken(directive)
            if directive is not None:
                self._news = replace(self._news, directive=directive)
                self._ask_until = None
                self._changed.notify_all()

    def _unless_taken(self, directive: Directive | None) -> Directive | None:
        """None for the one that the loop took, while the service cannot know yet what came of it."""
        return None if directive is None or directive.id == self._taken else directive

    def _may_ask_s(self) -> float:
        """How long to wait at the service now; 0 if it is not to be asked."""
        with self._changed:
            now = self._clock.monotonic()
            if self._ask_until is None or self._ask_until <= now or self._closed:
                return 0
            if now < self._next_ask or self._conversation.ask_in_s > 0:
                return 0
            return min(max(round(self._ask_until - now), 1), LONGEST_POLL_S)

    def _rest_s(self) -> float:
        with self._changed:
            send_in_s = self._conversation.send_in_s
            rests = [IDLE_S if send_in_s is None else send_in_s]
            if self._ask_until is not None:
                rests.append(max(self._next_ask - self._clock.monotonic(), self._conversation.ask_in_s, 0.0))
            return min(rests)
