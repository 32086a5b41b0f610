"""The exchange of an agent and its service: reports and their receipts, requests and their directives."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lutra_models.wire import Directive, Receipt

from lutra_agent.errors import NotAdmitted, ServiceFailed, ServiceRefused, ServiceUnavailable
from lutra_agent.log_throttle import LogThrottle
from lutra_agent.reporting.spool import Spool
from lutra_agent.reporting.transport import Transport

BATCH_REPORTS = 100
BATCH_S = 10.0
TRIES, PATIENCE_S = 5, 600.0
"""The tries and seconds for which a report on which the service fails delays the others,"""
TRIES_OF_MORE = 2
"""and the smaller numbers if it failed on another one within HELD_S."""
HELD_S = 3600.0
"""The interval at which held reports are tried again, HELD_AT_ONCE at a time."""
HELD_AT_ONCE = 10

Send = Callable[[bytes], Receipt]


SENDING = "sending reports"
ASKING = "asking for a directive"

log = logging.getLogger(__name__)
FIRST_S = 1.0
LONGEST_S = 30.0
SCATTER = 0.1
"""A time that the service names is respected, plus up to this share of it."""
Chance = Callable[[], float]
"""A number from 0 to 1, as returned by random.random."""


class Conversation:
    """For one thread. Network errors are not raised: they are logged, and the exchange is tried again later."""

    def __init__(
        self,
        agent: str,
        spool: Spool,
        transport: Transport,
        monotonic: Callable[[], float],
        chance: Chance = random.random,
    ) -> None:
        self._agent = agent
        self._spool = spool
        self._transport = transport
        self._delivery = Delivery(spool, transport.send, monotonic)
        self._sending, self._asking = Backoff(monotonic, chance), Backoff(monotonic, chance)
        self._throttle = LogThrottle(log)
        self._not_admitted = ""

    @property
    def send_in_s(self) -> float | None:
        """When `send` has something to do again; None if no report waits."""
        return self._sending.left_s if len(self._spool) else None

    @property
    def ask_in_s(self) -> float:
        return self._asking.left_s

    @property
    def problems(self) -> list[str]:
        """Problems that an operator should know."""
        held = len(self._spool.held())
        aside = f"the service fails on {held} reports, kept in spool/held: {self._delivery.fault}".rstrip(": ")
        return [text[:1000] for text in (self._not_admitted, aside if held else "") if text]

    def send(self) -> Receipt | None:
        """Send a batch of waiting reports; the answer to the newest, None if nothing was accepted."""
        receipt = None
        try:
            for receipt in self._delivery.batch():  # noqa: B007
                self._worked(SENDING, self._sending)
        except ServiceUnavailable as error:
            self._failed(SENDING, self._sending, error)
        except OSError as error:  # what was taken is sent again
            self._failed(SENDING, self._sending, ServiceUnavailable(f"the spool cannot be written: {error}"))
        return receipt

    def ask(self, wait_s: float) -> Directive | None:
        """Wait for a directive at the service; None as well if the service cannot be reached."""
        try:
            found = self._transport.directive(wait_s, self._agent, self._spool.epoch)
        except ServiceUnavailable as error:
            self._failed(ASKING, self._asking, error)
        except ServiceRefused as error:
            self._failed(ASKING, self._asking, ServiceUnavailable(str(error)))
        else:
            self._worked(ASKING, self._asking)
            return found
        return None

    def end(self) -> None:
        """From another thread: an exchange in progress fails now, and has no further effect."""
        self._spool.close()
        self._transport.end()

    def close(self) -> None:
        self._transport.close()

    def _worked(self, what: str, backoff: Backoff) -> None:
        backoff.worked()
        self._not_admitted = ""
        self._throttle.worked(what)

    def _failed(self, what: str, backoff: Backoff, error: ServiceUnavailable) -> None:
        backoff.failed(error.retry_after_s)
        self._not_admitted = str(error) if isinstance(error, NotAdmitted) else ""
        self._throttle.failed(what, error)


class Backoff:
    """The time after which a failed action may be repeated: longer each time, and random, so that many do not come at
    once.
    """

    def __init__(self, monotonic: Callable[[], float], chance: Chance) -> None:
        self._monotonic = monotonic
        self._chance = chance
        self._failures = 0
        self._until = float("-inf")

    @property
    def left_s(self) -> float:
        return max(self._until - self._monotonic(), 0.0)

    def failed(self, retry_after_s: float = 0.0) -> None:
        """Between half and all of a time that doubles with each failure; `retry_after_s` at the earliest."""
        pause = min(FIRST_S * 2.0 ** min(self._failures, 30), LONGEST_S) * (0.5 + 0.5 * self._chance())
        self._failures += 1
        self._until = self._monotonic() + max(pause, retry_after_s * (1 + SCATTER * self._chance()))

    def worked(self) -> None:
        self._failures, self._until = 0, float("-inf")


@dataclass
class Stuck:
    """The oldest report, and the number of times that the service failed on it."""

    sequence: int
    since_s: float
    tries: int = 0


class Delivery:
    """`send` raises ServiceUnavailable or ServiceRefused. `fault` is the service's latest answer of failure."""

    def __init__(self, spool: Spool, send: Send, monotonic: Callable[[], float]) -> None:
        self._spool = spool
        self._send = send
        self._monotonic = monotonic
        self._stuck: Stuck | None = None
        self._held_at: float | None = None
        self._next_held_s = float("-inf")
        self._last_held = -1
        self.fault = ""

    def batch(self) -> Iterator[Receipt]:
        """Send waiting reports, oldest first, and yield each answer; in batches, so that a backlog does not block
        directives.

        Raises ServiceUnavailable; unsent reports stay.
        """
        until = self._monotonic() + BATCH_S
        for sequence in self._spool.waiting(BATCH_REPORTS):
            if self._monotonic() >= until:
                return
            try:
                receipt = self._deliver(sequence)
            except ServiceFailed as error:
                receipt = self._pass(sequence, error)
            if receipt is not None:
                yield receipt
        self._retry_held()

    def _deliver(self, sequence: int) -> Receipt | None:
        """None if there is nothing to send any more, or where it was refused for good."""
        content = self._spool.read(sequence)
        if content is None:
            return None
        try:
            receipt = self._send(content)
        except ServiceRefused as error:
            log.error("report %d was refused permanently and moved to spool/refused: %s", sequence, error)
            self._spool.refuse(sequence)
            return None
        self._spool.accepted(sequence)
        return receipt

    def _pass(self, sequence: int, error: ServiceFailed) -> Receipt:
        """Set a report aside that the service fails at, where it takes a later one. Raises `error` if not."""
        if self._stuck is None or self._stuck.sequence != sequence:
            self._stuck = Stuck(sequence, self._monotonic())
        self._stuck.tries += 1
        receipt = self._probed(self._stuck.tries) if self._patience_ended(self._stuck) else None
        if receipt is None:
            raise error
        self._spool.hold(sequence)
        self.fault = str(error)
        self._held_at = self._monotonic()
        self._next_held_s = max(self._next_held_s, self._held_at + HELD_S)
        log.error("report %d is moved to spool/held, and later ones are sent: %s", sequence, error)
        return receipt

    def _patience_ended(self, stuck: Stuck) -> bool:
        now = self._monotonic()
        if self._held_at is not None and now - self._held_at < HELD_S:
            return stuck.tries >= TRIES_OF_MORE
        return stuck.tries >= TRIES and now - stuck.since_s >= PATIENCE_S

    def _probed(self, tries: int) -> Receipt | None:
        """The answer to one later report, the newest and each of the others in turn; None if it is not taken.

        A service that is down as a whole takes none, and then no report is to blame.
        """
        later = self._spool.waiting()[1:]
        if not later:
            return None
        try:
            return self._deliver(later[-1] if tries % 2 else later[tries // 2 % len(later)])
        except ServiceUnavailable:
            return None

    def _retry_held(self) -> None:
        """Called when the service takes reports. Raises ServiceUnavailable if it does not any more."""
        if self._monotonic() < self._next_held_s:
            return
        self._next_held_s = self._monotonic() + HELD_S
        held = self._spool.held()
        for sequence in ([s for s in held if s > self._last_held] or held)[:HELD_AT_ONCE]:
            self._last_held = sequence
            try:
                self._deliver(sequence)
            except ServiceFailed as error:
                self.fault = str(error)
