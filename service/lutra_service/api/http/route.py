"""Routes that check every client: the token, its scope and its database first, the body afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any, get_args

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.types import Receive, Scope

from lutra_service.api.http.access import declared
from lutra_service.api.http.entry import Entry
from lutra_service.api.http.notifier import preferred_wait
from lutra_service.app.access.tokens import Principal
from lutra_service.app.errors import InvalidRequest
from lutra_service.edge.bodies import Body
from lutra_service.edge.protocol import CONNECTION

MAX_ERRORS = 2_000
"""The errors of a longer body are not reported: they would cost too much memory."""

Make = Callable[[Any], Any]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRequest(Request):
    """A request whose bearer is admitted and whose body was read, parsed and validated, once."""

    def __init__(self, request: Request, who: Principal, body: Body) -> None:
        super().__init__(request.scope, request.receive)
        self.bearer = who
        self._given = body

    async def body(self) -> bytes:
        return self._given.plain

    async def json(self) -> Any:
        return self._given.made


class GuardedRoute(APIRoute):
    """Every route that needs a token; its function says by `@allow` who may call it."""

    def get_route_handler(self) -> Handler:
        answer, access, make = super().get_route_handler(), declared(self.endpoint), _maker(self)

        async def handle(request: Request) -> Response:
            entry: Entry = request.app.state.entry
            who = await entry.admit(request.headers, access, request.path_params)
            _welcome(request.scope)
            body = await entry.bodies.take(request.headers, request.receive, who.token_id, access.large_body, make)
            await entry.note_tool(request, access, who)
            guarded = GuardedRequest(request, who, body)
            if not preferred_wait(request.headers.get("prefer")):
                return await answer(guarded)
            found = await _while_connected(request.receive, answer(guarded))
            await entry.admit_again(request.headers, access, request.path_params)
            return found

        return handle


def _welcome(scope: Scope) -> None:
    """Its connection is not among the first to be closed any more. In a test there may be none."""
    connection = scope.get(CONNECTION)
    if connection is not None:
        connection.welcome()


def _maker(route: APIRoute) -> Make:
    """Validates a parsed document as the route's body."""
    if route.body_field is None:
        return lambda document: document
    wanted: Any = route.body_field.field_info.annotation
    adapter = TypeAdapter[Any](wanted)

    def make(document: Any) -> Any:
        try:
            return adapter.validate_python(document)
        except ValidationError as error:
            if error.error_count() > MAX_ERRORS:
                raise InvalidRequest(f"the body has {error.error_count()} errors: it does not fit this route") from None
            found = error.errors(include_url=False)
            told: list[Any] = [_told(e, wanted) for e in found]
            raise RequestValidationError(told) from None

    return make


def _told(error: Any, wanted: Any) -> dict[str, Any]:
    """With its place, and for a field that nobody knows those that are known there."""
    known = {"known": _known(wanted, error["loc"])} if error["type"] == "extra_forbidden" else {}
    return {**error, **known, "loc": ("body", *error["loc"])}


def _known(kind: Any, place: Sequence[int | str]) -> list[str]:
    """The fields beside the one at `place` that nobody knows."""
    for part in place[:-1]:
        inside = next((m for m in _models(kind) if part in m.model_fields), None)
        kind = kind if inside is None else inside.model_fields[str(part)].annotation
    return sorted({name for model in _models(kind) for name in model.model_fields})


def _models(kind: Any) -> Iterator[type[BaseModel]]:
    """Those that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    else:
        for part in get_args(kind):
            yield from _models(part)


async def _while_connected(receive: Receive, answer: Awaitable[Response]) -> Response:
    """The answer; or none where the client leaves, who then takes no place among those who wait."""
    waiting, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        return await waiting if waiting.done() or not leaving.done() else Response(status_code=204)
    finally:
        leaving.cancel()
        waiting.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
