"""Methods that are written once: what a function describes is carried out by whichever client it is asked of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from lutra_client.drivers import Awaiting, Blocking
from lutra_client.exchange import Flow, answered
from lutra_client.requests import Request
from lutra_client.tables import AsyncPages, AsyncRows, Pages, Rows

P = ParamSpec("P")
T = TypeVar("T")


class Sync:
    """A client whose methods block."""

    driver: Blocking


class Async:
    """A client whose methods are awaited."""

    driver: Awaiting


class _Method(Generic[P, T]):
    """`request` gives the call as a value, for `wait_until`."""

    def __init__(self, describe: Callable[Concatenate[Any, P], T]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__
        self.__name__ = describe.__name__

    def request(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.describe(None, *args, **kwargs)

    def _bind(self, wrap: Callable[[T], Any]) -> Callable[P, Any]:
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return wrap(self.describe(None, *args, **kwargs))

        method.__name__, method.__doc__ = self.__name__, self.__doc__
        return method


class call(_Method[P, Request[T]]):  # noqa: N801  (a decorator)
    """A request and its answer."""

    @overload
    def __get__(self, client: Sync, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Async, kind: type) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, kind: type) -> call[P, T]: ...
    def __get__(self, client: Sync | Async | None, kind: type) -> Any:
        if client is None:
            return self
        return self._bind(lambda request: client.driver.run(answered(request, client.driver.retries)))


class pages(_Method[P, Request[T]]):  # noqa: N801
    """A list in pages; T is an item."""

    @overload
    def __get__(self, client: Sync, kind: type) -> Callable[P, Pages[T]]: ...
    @overload
    def __get__(self, client: Async, kind: type) -> Callable[P, AsyncPages[T]]: ...
    @overload
    def __get__(self, client: None, kind: type) -> pages[P, T]: ...
    def __get__(self, client: Sync | Async | None, kind: type) -> Any:
        if isinstance(client, Async):
            return self._bind(lambda request: AsyncPages(client.driver, request))
        return self if client is None else self._bind(lambda request: Pages(client.driver, request))


class rows(_Method[P, Request[T]]):  # noqa: N801
    """Lines that stream; T is a line."""

    @overload
    def __get__(self, client: Sync, kind: type) -> Callable[P, Rows[T]]: ...
    @overload
    def __get__(self, client: Async, kind: type) -> Callable[P, AsyncRows[T]]: ...
    @overload
    def __get__(self, client: None, kind: type) -> rows[P, T]: ...
    def __get__(self, client: Sync | Async | None, kind: type) -> Any:
        if isinstance(client, Async):
            return self._bind(lambda request: AsyncRows(client.driver, request))
        return self if client is None else self._bind(lambda request: Rows(client.driver, request))


class flow(Generic[P, T]):  # noqa: N801
    """Several exchanges, one after the other."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: Sync, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Async, kind: type) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, kind: type) -> flow[P, T]: ...
    def __get__(self, client: Sync | Async | None, kind: type) -> Any:
        if client is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.driver.run(self.describe(client, *args, **kwargs))

        method.__doc__ = self.__doc__
        return method
