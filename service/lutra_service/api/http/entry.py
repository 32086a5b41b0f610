"""Authentication: tokens are looked up before any part of a body is read, and the share of each client is counted."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from lutra_models.errors import LutraError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from lutra_service.api.http.access import Access
from lutra_service.app.access import audit
from lutra_service.app.access.tokens import Principal, TokenUse, bearers
from lutra_service.app.errors import InvalidRequest, Unauthorized
from lutra_service.common.actor import current_actor
from lutra_service.common.ids import is_secret, secret_hash
from lutra_service.common.settings import Settings
from lutra_service.common.together import Together
from lutra_service.db.store import Store, UnitOfWork
from lutra_service.edge.addresses import counted
from lutra_service.edge.bodies import BodyLimits
from lutra_service.edge.limits import MAX_KEYS, Places, Rate, TooManyRequests

Found = Unauthorized | tuple[Principal, LutraError | None]
UNCOUNTED = "/healthz"
"""Always answered, to every client: any caller has to learn that the service is alive."""
STRANGERS_TOGETHER = 64
"""The maximum number of unknown tokens that one query on a separate thread looks up at once. A flood of invented tokens
does not use more of the store, and a service that starts among thousands of agents soon knows their tokens.
"""
TOOL = "lutra-tool"
"""The header with the name of the tool by which an AI assistant makes this call."""
TOOL_CALLS_PER_S = 2.0
"""Of one token. Each is an entry of the audit trail, also one that only reads."""
REFUSED = "lutra-tool-refused"
"""The header with the code by which the tools themselves refused a call, before they asked for anything."""
REFUSALS_PER_S, REFUSALS_BURST_S = 1 / 60, 1200.0
"""Recorded refusals of one token: twenty at once, then one a minute. A flood of them does not fill the trail."""
LONGEST_TOOL = 40
_TOOL_NAME = re.compile(r"[a-z]+(_[a-z]+)*")
WANTED = "a valid bearer token is needed: Authorization: Bearer lutra_…"


class Entry:
    """A request counts for its token; without a valid token it counts for its address, with a lower limit."""

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._by_token = Rate(settings.requests_per_s, clock)
        self._by_address = Rate(settings.anonymous_per_s, clock)
        self._tool_calls = Rate(TOOL_CALLS_PER_S, clock)
        self._refusals = Rate(REFUSALS_PER_S, clock, REFUSALS_BURST_S)
        self._strangers = Places("unknown tokens", STRANGERS_TOGETHER, waiting=500, each=200)
        self.uses = TokenUse(store, clock)
        self._known: OrderedDict[str, None] = OrderedDict()
        self._bearers: Together[str, Principal | Unauthorized] = Together(self._look)
        self._unknown: Together[str, Principal | Unauthorized] = Together(self._look, STRANGERS_TOGETHER)
        self.bodies = BodyLimits(settings)
        self.exports = Places("exports", settings.exports, waiting=4 * settings.exports, each=1)

    def meet(self, scope: Scope) -> None:
        """The first check of a request. Raises TooManyRequests."""
        if scope["path"] != UNCOUNTED and secret_of(Headers(scope=scope)) is None:
            self._count_address()

    async def admit(self, headers: Headers, access: Access, path: dict[str, str]) -> Principal:
        """The bearer, who may do this. Raises Unauthorized, Forbidden, NotFound and Later."""
        secret = secret_of(headers)
        if secret is None:
            raise Unauthorized(WANTED)
        found = await self._looked_up(secret, access, path)
        if isinstance(found, Unauthorized):
            self._count_address()
            raise found
        who, refusal = found
        self._by_token.take(who.token_id, "a token")
        current_actor.set(replace(current_actor.get(), token_id=who.token_id, token_name=who.name))
        if refusal is not None:
            await self._note_refusal(headers.get(TOOL), who, {"refused": refusal.code, **path})
            raise refusal
        return who

    async def admit_again(self, headers: Headers, access: Access, path: dict[str, str]) -> None:
        """After a wait, in which the token may have been revoked. Counts nothing."""
        digest = secret_hash(secret_of(headers) or "")
        who = await self._bearers.ask(digest)
        refusal = who if isinstance(who, Unauthorized) else await self._refusal(who, access, path)
        if refusal is not None:
            raise refusal

    async def note_tool(self, request: Request, access: Access, who: Principal) -> None:
        """Record the call of a tool in the audit trail, if a header names one. Raises InvalidRequest for an invalid
        name, NotFound for what does not exist, and TooManyRequests.
        """
        tool, refused = request.headers.get(TOOL), request.headers.get(REFUSED)
        if tool is None:
            return
        if not all(map(_is_tool, (tool, refused or tool))):
            raise InvalidRequest(f"{TOOL}: a tool's name has at most {LONGEST_TOOL} letters and low lines")
        if refused is not None:
            await self._note_refusal(tool, who, {"refused": refused})
            return
        self._tool_calls.take(who.token_id, "the tools of a token")
        call, path = f"{request.method} {request.url.path}", request.path_params

        def note(unit: UnitOfWork) -> None:
            database = access.database_of(unit, who, path)
            if database is not None:
                unit.databases.get(database)
            audit.record(unit, "tool.call", tool, None, {"call": call}, database_id=database)

        await run_in_threadpool(self._store.write, note)

    async def _note_refusal(self, tool: str | None, who: Principal, why: dict[str, str]) -> None:
        """Record a refused call of a tool, as long as there is room for it."""
        if tool is None or not _is_tool(tool):
            return
        with suppress(TooManyRequests):
            self._refusals.take(who.token_id, "refused calls")
            await run_in_threadpool(
                self._store.write,
                lambda unit: audit.record(unit, "tool.refuse", tool, None, why, database_id=who.database_id),
            )

    async def _looked_up(self, secret: str, access: Access, path: dict[str, str]) -> Found:
        """Every time: a revoked token is refused at once. One that was valid before does not queue with those that
        never were, so that a flood of made-up tokens holds no agent up, not even one of the same address."""
        digest = secret_hash(secret)
        if digest in self._known:
            who = await self._bearers.ask(digest)
        else:
            async with self._strangers.taken(counted(current_actor.get().address)):
                who = await self._unknown.ask(digest)
        self._known.pop(digest, None)
        if isinstance(who, Unauthorized):
            return who
        self._known[digest] = None
        if len(self._known) > MAX_KEYS:
            self._known.popitem(last=False)
        return who, await self._refusal(who, access, path)

    def _look(self, digests: Sequence[str]) -> list[Principal | Unauthorized]:
        found = self._store.read(lambda unit: bearers(unit, digests))
        self.uses.note(who for who in found if not isinstance(who, Unauthorized))
        return found

    async def _refusal(self, who: Principal, access: Access, path: dict[str, str]) -> LutraError | None:
        """What stands in the way of this request."""
        try:
            if access.needs_store:
                await run_in_threadpool(self._store.read, lambda unit: access.check(unit, who, path))
            else:
                access.check(None, who, path)
        except LutraError as refusal:
            return refusal
        return None

    def _count_address(self) -> None:
        self._by_address.take(counted(current_actor.get().address), "an address without a valid token")


def _is_tool(name: str) -> bool:
    return len(name) <= LONGEST_TOOL and _TOOL_NAME.fullmatch(name) is not None


def secret_of(headers: Headers) -> str | None:
    """The token in the one Authorization header, if it has a token's form."""
    given = headers.getlist("authorization")
    scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    secret = secret.strip(" ")
    return secret if scheme.lower() == "bearer" and is_secret(secret) else None
