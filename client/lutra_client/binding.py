"""Methods that are written once: what a function describes is carried out by whichever client it is asked of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import Signature
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload

from lutra_client.drivers import Awaiting, Blocking
from lutra_client.exchange import Flow, answered
from lutra_client.requests import Request
from lutra_client.signatures import signature
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
    """`blocking` and `awaiting` are what the answer comes in from each client, None where it comes as it is."""

    blocking: ClassVar[Any] = None
    awaiting: ClassVar[Any] = Awaitable

    def __init__(self, describe: Callable[Concatenate[Any, P], T]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__
        self.__name__ = describe.__name__
        self.__qualname__ = describe.__qualname__
        self.__module__ = describe.__module__

    def __get__(self, client: Any, kind: type) -> Any:
        raise NotImplementedError

    def __call__(self, client: Sync | Async, *args: P.args, **kwargs: P.kwargs) -> Any:
        """`Client.get_database(client, "db_…")` is `client.get_database("db_…")`."""
        return self.__get__(client, type(client))(*args, **kwargs)

    def __getattr__(self, name: str) -> Signature:
        if name != "__signature__":
            raise AttributeError(f"{self.__qualname__} has no {name}")
        return signature(self.describe, self.blocking)

    def _bind(self, client: Sync | Async, wrap: Callable[[T], Any]) -> Callable[P, Any]:
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return wrap(self.describe(client, *args, **kwargs))

        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(method, name, getattr(self, name))
        given = self.awaiting if isinstance(client, Async) else self.blocking
        method.__signature__ = signature(self.describe, given)  # type: ignore[attr-defined]
        return method


class _Request(_Method[P, Request[T]]):
    """`request` gives the call as a value, for `wait_until`."""

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request[T]:
        return self.describe(None, *args, **kwargs)


class call(_Request[P, T]):  # noqa: N801  (a decorator)
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
        return self._bind(client, lambda request: client.driver.run(answered(request, client.driver.retries)))


class pages(_Request[P, T]):  # noqa: N801
    """A list in pages; T is an item."""

    blocking = Pages
    awaiting = AsyncPages

    @overload
    def __get__(self, client: Sync, kind: type) -> Callable[P, Pages[T]]: ...
    @overload
    def __get__(self, client: Async, kind: type) -> Callable[P, AsyncPages[T]]: ...
    @overload
    def __get__(self, client: None, kind: type) -> pages[P, T]: ...
    def __get__(self, client: Sync | Async | None, kind: type) -> Any:
        if isinstance(client, Async):
            return self._bind(client, lambda request: AsyncPages(client.driver, request))
        return self if client is None else self._bind(client, lambda request: Pages(client.driver, request))


class rows(_Request[P, T]):  # noqa: N801
    """Lines that stream; T is a line."""

    blocking = Rows
    awaiting = AsyncRows

    @overload
    def __get__(self, client: Sync, kind: type) -> Callable[P, Rows[T]]: ...
    @overload
    def __get__(self, client: Async, kind: type) -> Callable[P, AsyncRows[T]]: ...
    @overload
    def __get__(self, client: None, kind: type) -> rows[P, T]: ...
    def __get__(self, client: Sync | Async | None, kind: type) -> Any:
        if isinstance(client, Async):
            return self._bind(client, lambda request: AsyncRows(client.driver, request))
        return self if client is None else self._bind(client, lambda request: Rows(client.driver, request))


class flow(_Method[P, Flow[T]]):  # noqa: N801
    """Several exchanges, one after the other."""

    @overload
    def __get__(self, client: Sync, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Async, kind: type) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, kind: type) -> flow[P, T]: ...
    def __get__(self, client: Sync | Async | None, kind: type) -> Any:
        return self if client is None else self._bind(client, client.driver.run)
