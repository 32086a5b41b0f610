"""The arguments of routes: the bearer, the transactions, the idempotency key, the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, cast

from fastapi import Depends, Header, Query, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from lutra_models.catalog import did_you_mean
from lutra_models.digest import fingerprint
from pydantic import BaseModel, Field

from lutra_service.api.http.notifier import Notifier, preferred_wait
from lutra_service.api.http.route import GuardedRequest
from lutra_service.app.access.idempotency import Idempotency
from lutra_service.app.access.tokens import Principal, TokenUse
from lutra_service.app.errors import InvalidRequest
from lutra_service.db.store import Store
from lutra_service.edge.limits import Places
from lutra_service.workers.maker import MakesWorker

SHOWN = 20

T = TypeVar("T")


async def store(request: Request) -> Store:
    return cast(Store, request.app.state.store)


async def notifier(request: Request) -> Notifier:
    return cast(Notifier, request.app.state.notifier)


async def uses(request: Request) -> TokenUse:
    return cast(TokenUse, request.app.state.entry.uses)


async def exports(request: Request) -> Places:
    return cast(Places, request.app.state.entry.exports)


async def make_candidates(request: Request) -> MakesWorker:
    return cast(MakesWorker, request.app.state.make_candidates)


StoreDep = Annotated[Store, Depends(store)]
Uses = Annotated[TokenUse, Depends(uses)]
Exports = Annotated[Places, Depends(exports)]
MakesCandidates = Annotated[MakesWorker, Depends(make_candidates)]
NotifierDep = Annotated[Notifier, Depends(notifier)]


_scheme = HTTPBearer(auto_error=False, scheme_name="token", description="A token of `lutra tokens create`.")


async def bearer(request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_scheme)]) -> Principal:
    """Whom `GuardedRoute` admitted."""
    assert isinstance(request, GuardedRequest)
    return request.bearer


Bearer = Annotated[Principal, Depends(bearer)]


async def once(
    request: Request,
    who: Bearer,
    idempotency_key: Annotated[
        str | None, Header(description="A repeated request with the same key is carried out once.")
    ] = None,
) -> Idempotency:
    """Two bodies that say the same in another order of fields are one request."""
    said = await request.body()
    body = json.loads(said) if said else None
    return Idempotency(who, idempotency_key, fingerprint([request.method, request.scope["path"], body]))


IdempotencyDep = Annotated[Idempotency, Depends(once)]


async def wait_seconds(
    response: Response,
    prefer: Annotated[str | None, Header(description="`wait=N`: wait up to N ≤ 60 seconds for the answer.")] = None,
) -> float:
    """The seconds, repeated in the answer's `Preference-Applied`."""
    seconds = preferred_wait(prefer)
    if seconds:
        response.headers["Preference-Applied"] = f"wait={seconds:g}"
    return seconds


WaitSeconds = Annotated[float, Depends(wait_seconds)]


@dataclass(frozen=True)
class PageQuery:
    limit: int
    after: str | None

    def of(self, items: list[Any]) -> dict[str, Any]:
        """A page from up to `limit` + 1 records, each with an id."""
        more = len(items) > self.limit
        items = items[: self.limit]
        return {"items": items, "next": items[-1].id if more else None}


def paging(prefix: str, rest: str = "[0-9a-z]{22}") -> Callable[..., PageQuery]:
    """The page that is asked for of a list whose ids are `prefix`, a low line and `rest`."""

    def page_query(
        limit: Annotated[int, Query(ge=1, le=500, description="The maximum number of items on a page.")] = 50,
        after: str | None = Query(
            default=None, pattern=f"^{prefix}_{rest}$", description="The `next` of the previous page."
        ),
    ) -> PageQuery:
        return PageQuery(limit, after)

    return page_query


class Page(BaseModel, Generic[T]):
    """One page of a list, and the start of the next page."""

    # Pydantic would look for texts below the fields anew in each list's page, at every start.
    items: list[T] = Field(description="The page's items, in the order that the list's description names.")
    next: str | None = Field(description="Pass it as `?after=` for the following page; null at the end.")


def known_parameters(request: Request, _: Bearer) -> None:
    """Refuse parameters that the route does not declare. Raises InvalidRequest."""
    known = sorted(_declared(request.scope["route"].dependant))
    unknown = sorted(set(request.query_params) - set(known))
    if unknown:
        told = ", ".join(f"{name[:64]!r}{did_you_mean(name[:64], known)}" for name in unknown[:SHOWN])
        rest = f"known here: {', '.join(known)}" if known else "this call takes none"
        raise InvalidRequest(f"unknown query parameter {told}; {rest}")


def _declared(dependant: Dependant) -> set[str]:
    own = {field.alias for field in dependant.query_params}
    return own.union(*(_declared(inner) for inner in dependant.dependencies))
