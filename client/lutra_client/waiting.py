"""Waiting with a deadline, defined once for both clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lutra_models.history import History
from lutra_models.lifecycle import Until, has_come

from lutra_client import operations
from lutra_client.binding import D, Group, flow
from lutra_client.exchange import Flow, answered, until
from lutra_client.operations import Operations
from lutra_client.requests import Request
from lutra_client.schemas import RecommendationAnswer, SessionAnswer

T = TypeVar("T")
LONGEST_WAIT_S = 60.0
"""The longest time for which the service holds a request."""
EVERY_S = 2.0


class Recommendations(operations.Recommendations[D]):
    __doc__ = operations.Recommendations.__doc__

    @flow
    def wait(
        self, recommendation: str, /, *, until: Until = "computed", timeout_s: float = 600.0
    ) -> Flow[RecommendationAnswer]:
        """The recommendation once it is computed, decided, applied, measured or ended, or has ended before that.

        Raises TimedOut after `timeout_s`.
        """

        def ask(left_s: float) -> Request[RecommendationAnswer]:
            wait_s = min(left_s, LONGEST_WAIT_S)
            return operations.Recommendations.get.request(recommendation, until=until, wait_s=wait_s)

        def done(found: RecommendationAnswer) -> bool:
            return has_come(found["state"], found["measured"] is not None, until)

        return _until(self, ask, done, timeout_s, every_s=0.2)


class Sessions(operations.Sessions[D]):
    __doc__ = operations.Sessions.__doc__

    @flow
    def wait(self, session: str, /, *, timeout_s: float, every_s: float = EVERY_S) -> Flow[SessionAnswer]:
        """The session once it no longer runs: settled, paused, completed, stopped or undone.

        Raises TimedOut after `timeout_s`.
        """
        request = operations.Sessions.get.request(session)
        return _until(self, lambda _: request, lambda found: found["state"] != "running", timeout_s, every_s)


class Calls(Operations[D]):
    """Every operation, and what takes several of them."""

    @property
    def recommendations(self) -> Recommendations[D]:
        return Recommendations(self.driver)

    @property
    def sessions(self) -> Sessions[D]:
        return Sessions(self.driver)

    @property
    def url(self) -> str:
        """The service's address."""
        return str(self.driver.http.base_url).rstrip("/")

    @flow
    def wait_until(
        self, request: Request[T], done: Callable[[T], bool], /, *, timeout_s: float, every_s: float = EVERY_S
    ) -> Flow[T]:
        """The first answer to `request` that is `done`, asked again every `every_s`. Raises TimedOut.

        `client.databases.get.request("db_…")` is a request.
        """
        return _until(self, lambda _: request, done, timeout_s, every_s)

    @flow
    def history(self, of: str, /) -> Flow[History]:
        """The recommender's view of a session (`ts_…`), or the measurements of a workload (`wl_…`), as the type that
        `lutra_models.gp.fit` takes.
        """
        return _history(self, of)


def _until(
    group: Group[Any], ask: Callable[[float], Request[T]], done: Callable[[T], bool], timeout_s: float, every_s: float
) -> Flow[T]:
    return until(ask, done, group.driver.retries, timeout_s, every_s)


def _history(group: Group[Any], of: str) -> Flow[History]:
    from lutra_models.serial import history_from_dict

    asked: Any = operations.Workloads if of.startswith("wl_") else operations.Sessions
    document = yield from answered(asked.get_history.request(of), group.driver.retries)
    return history_from_dict(dict(document))
