"""The exchange of an agent and its service: reports and their receipts, requests and their directives."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

from lutra_models.wire import Directive, Receipt

from lutra_agent.errors import NotAdmitted, ServiceRefused, ServiceUnavailable
from lutra_agent.log_throttle import LogThrottle
from lutra_agent.reporting.delivery import Delivery
from lutra_agent.reporting.spool import Spool
from lutra_agent.reporting.transport import Transport

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
