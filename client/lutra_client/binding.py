"""Methods that are written once: either client executes the call that a function describes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from inspect import Parameter, Signature
from inspect import signature as declared
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Generic,
    NotRequired,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from lutra_client.drivers import Awaiting, Blocking
from lutra_client.exchange import Flow, answered
from lutra_client.requests import Request
from lutra_client.tables import AsyncPages, AsyncRows, Pages, Rows


class _LeftOut:
    """The default of a field that a body may leave out: the service's own."""

    def __repr__(self) -> str:
        return "..."


LEFT_OUT = _LeftOut()


@cache
def signature(describe: Callable[..., Any], comes_in: Any) -> Signature:
    """The signature of the method that executes the call that `describe` describes. The answer comes in `comes_in`, a
    generic type or None.

    The first parameter is the client's, and is not named.
    """
    hints = get_type_hints(describe)
    _, *named = declared(describe).parameters.values()
    parameters = [p for one in named for p in _parameters(one, hints[one.name])]
    required_first = sorted(parameters, key=lambda p: (p.kind, p.default is not Parameter.empty))
    answer = get_args(hints["return"])[-1]
    return Signature(required_first, return_annotation=answer if comes_in is None else comes_in[answer])


def _parameters(one: Parameter, hint: Any) -> Iterator[Parameter]:
    if get_origin(hint) is not Unpack:
        yield one.replace(annotation=hint)
        return
    (body,) = get_args(hint)
    for name, kind in get_type_hints(body, include_extras=True).items():
        left_out = get_origin(kind) is NotRequired
        yield Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=LEFT_OUT if left_out else Parameter.empty,
            annotation=get_args(kind)[0] if left_out else kind,
        )


P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", covariant=True)
D = TypeVar("D", bound=Blocking | Awaiting)


class Group(Generic[D]):
    """Calls that one client carries out: it blocks, or is awaited, as its driver does."""

    def __init__(self, driver: D) -> None:
        self.driver = driver

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of {self.driver.http.base_url}>"


class Asked(Protocol[P, T, R]):
    """A function that carries a request out, and gives R; `request` gives the call as a value."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request[T]: ...


class _Method(ABC, Generic[P, T]):
    """`blocking` and `awaiting` are what the answer comes in from each client, None if it comes as it is."""

    blocking: ClassVar[Any] = None
    awaiting: ClassVar[Any] = Awaitable

    def __init__(self, describe: Callable[Concatenate[Any, P], T]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__
        self.__name__ = describe.__name__
        self.__qualname__ = describe.__qualname__
        self.__module__ = describe.__module__

    @abstractmethod
    def __get__(self, group: Any, kind: type) -> Any: ...

    def __call__(self, group: Group[Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        """`Databases.get(client.databases, "db_…")` is `client.databases.get("db_…")`."""
        return self.__get__(group, type(group))(*args, **kwargs)

    def __getattr__(self, name: str) -> Signature:
        if name != "__signature__":
            raise AttributeError(f"{self.__qualname__} has no {name}")
        return signature(self.describe, self.blocking)

    def _bind(self, group: Group[Any], wrap: Callable[[T], Any]) -> Any:
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return wrap(self.describe(group, *args, **kwargs))

        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(method, name, getattr(self, name))
        given = self.awaiting if isinstance(group.driver, Awaiting) else self.blocking
        method.__signature__ = signature(self.describe, given)  # type: ignore[attr-defined]
        return method


class _Request(_Method[P, Request[T]]):
    """`request` gives the call as a value, for `wait_until`."""

    def request(self, *args: P.args, **kwargs: P.kwargs) -> Request[T]:
        return self.describe(None, *args, **kwargs)

    def _bind(self, group: Group[Any], wrap: Callable[[Request[T]], Any]) -> Any:
        method = super()._bind(group, wrap)
        method.request = self.request
        return method

    def _table(self, group: Group[Any]) -> Callable[[Request[T]], Any]:
        kind = self.awaiting if isinstance(group.driver, Awaiting) else self.blocking
        return lambda request: kind(group.driver, request)


class call(_Request[P, T]):  # noqa: N801  (a decorator)
    """A request and its answer."""

    @overload
    def __get__(self, group: Group[Blocking], kind: type) -> Asked[P, T, T]: ...
    @overload
    def __get__(self, group: Group[Awaiting], kind: type) -> Asked[P, T, Awaitable[T]]: ...
    @overload
    def __get__(self, group: None, kind: type) -> call[P, T]: ...
    def __get__(self, group: Any, kind: type) -> Any:
        if group is None:
            return self
        return self._bind(group, lambda request: group.driver.run(answered(request, group.driver.retries)))


class pages(_Request[P, T]):  # noqa: N801
    """A list in pages; T is an item."""

    blocking = Pages
    awaiting = AsyncPages

    @overload
    def __get__(self, group: Group[Blocking], kind: type) -> Asked[P, T, Pages[T]]: ...
    @overload
    def __get__(self, group: Group[Awaiting], kind: type) -> Asked[P, T, AsyncPages[T]]: ...
    @overload
    def __get__(self, group: None, kind: type) -> pages[P, T]: ...
    def __get__(self, group: Any, kind: type) -> Any:
        return self if group is None else self._bind(group, self._table(group))


class rows(_Request[P, T]):  # noqa: N801
    """Lines that stream; T is a line."""

    blocking = Rows
    awaiting = AsyncRows

    @overload
    def __get__(self, group: Group[Blocking], kind: type) -> Asked[P, T, Rows[T]]: ...
    @overload
    def __get__(self, group: Group[Awaiting], kind: type) -> Asked[P, T, AsyncRows[T]]: ...
    @overload
    def __get__(self, group: None, kind: type) -> rows[P, T]: ...
    def __get__(self, group: Any, kind: type) -> Any:
        return self if group is None else self._bind(group, self._table(group))


class flow(_Method[P, Flow[T]]):  # noqa: N801
    """Several exchanges, one after the other."""

    @overload
    def __get__(self, group: Group[Blocking], kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, group: Group[Awaiting], kind: type) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, group: None, kind: type) -> flow[P, T]: ...
    def __get__(self, group: Any, kind: type) -> Any:
        return self if group is None else self._bind(group, group.driver.run)
