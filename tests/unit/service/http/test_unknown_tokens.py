"""Tokens that the service has not seen before: valid ones come in numbers when it starts, made-up ones in a flood."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from lutra_service.api.http import entry
from lutra_service.api.http.access import Access
from lutra_service.api.http.entry import STRANGERS_TOGETHER, Entry
from lutra_service.app.access.tokens import Principal, bearers
from lutra_service.app.errors import Unauthorized
from lutra_service.common.actor import Actor, current_actor
from lutra_service.common.ids import new_secret, secret_hash
from lutra_service.common.settings import Settings
from lutra_service.edge.limits import Busy, TooManyRequests
from starlette.datastructures import Headers

from tests.support.service.hosted import Service
from tests.support.waiting import PATIENCE_S

READ = Access(("read",), of="any")


class Looks:
    """The look-ups in the store, each with its digests; one for a token of `held` waits until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rounds: list[Sequence[str]] = []
        self.held: set[str] = set()
        self.waiting, self.go = threading.Event(), threading.Event()
        monkeypatch.setattr(entry, "bearers", self._look)

    def _look(self, unit: Any, digests: Sequence[str]) -> list[Principal | Unauthorized]:
        self.rounds.append(digests)
        if self.held.intersection(digests):
            self.waiting.set()
            assert self.go.wait(PATIENCE_S)
        return bearers(unit, digests)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


def valid(service: Service, count: int) -> list[str]:
    path, wish = "/v1/tokens", {"name": "ci", "scopes": ["read"]}
    return [service.take("POST", path, wish)["token"] for _ in range(count)]


async def admitted(at: Entry, token: str, address: str = "192.0.2.1") -> Principal:
    current_actor.set(Actor(address=address))
    return await at.admit(Headers({"authorization": f"Bearer {token}"}), READ, {})


async def all_of(at: Entry, tokens: Sequence[str], address: str = "192.0.2.1") -> list[Principal | BaseException]:
    return await asyncio.gather(*(admitted(at, token, address) for token in tokens), return_exceptions=True)


async def until(so: Callable[[], bool]) -> None:
    while not so():
        await asyncio.sleep(0.001)


def test_unknown_tokens_that_come_together_are_looked_up_together(service: Service, looks: Looks) -> None:
    good, made_up = valid(service, 8), [new_secret() for _ in range(8)]
    looks.rounds.clear()

    async def ask() -> None:
        found = await all_of(Entry(service.store, Settings()), [*good, *made_up])
        assert [type(f) for f in found] == [Principal] * 8 + [Unauthorized] * 8
        assert len({f.token_id for f in found if isinstance(f, Principal)}) == 8

    asyncio.run(ask())
    assert [len(digests) for digests in looks.rounds] == [16]


def test_a_flood_of_made_up_tokens_is_looked_up_a_bounded_number_at_a_time(service: Service, looks: Looks) -> None:
    made_up = [new_secret() for _ in range(3 * STRANGERS_TOGETHER)]

    async def ask() -> None:
        found = await all_of(Entry(service.store, Settings()), made_up)
        assert {type(f) for f in found} == {Unauthorized}

    asyncio.run(ask())
    assert max(len(digests) for digests in looks.rounds) <= STRANGERS_TOGETHER
    assert sum(len(digests) for digests in looks.rounds) == len(made_up)


def test_a_known_token_does_not_wait_for_unknown_ones(service: Service, looks: Looks) -> None:
    (known,), made_up = valid(service, 1), new_secret()
    looks.held = {secret_hash(made_up)}

    async def ask() -> None:
        at = Entry(service.store, Settings())
        await admitted(at, known)
        slow = asyncio.create_task(admitted(at, made_up))
        await until(looks.waiting.is_set)
        assert (await asyncio.wait_for(admitted(at, known), PATIENCE_S)).scopes == {"read"}
        assert not slow.done()
        looks.go.set()
        with pytest.raises(Unauthorized):
            await slow

    asyncio.run(ask())


def test_what_waits_of_unknown_tokens_is_bounded_for_an_address_and_for_all(service: Service, looks: Looks) -> None:
    made_up = [new_secret() for _ in range(250)]
    looks.held = {secret_hash(token) for token in made_up}

    async def ask() -> None:
        at = Entry(service.store, Settings())
        floods = [asyncio.create_task(all_of(at, made_up, f"192.0.2.{n}")) for n in range(4)]
        await until(looks.waiting.is_set)
        looks.go.set()
        found = [f for some in await asyncio.gather(*floods) for f in some]
        kinds = [sum(isinstance(f, kind) for f in found) for kind in (Unauthorized, TooManyRequests, Busy)]
        assert sum(kinds) == len(found) == 1000
        looked_up, of_one_address, of_all = kinds
        assert looked_up <= STRANGERS_TOGETHER + 500
        assert of_one_address >= 2 * 50
        assert of_all >= 200

    asyncio.run(ask())


def test_a_new_token_is_looked_up_while_one_address_floods(service: Service, looks: Looks) -> None:
    (new,), made_up = valid(service, 1), [new_secret() for _ in range(300)]

    async def ask() -> None:
        at = Entry(service.store, Settings())
        flood = asyncio.create_task(all_of(at, made_up))
        assert (await admitted(at, new, "192.0.2.9")).scopes == {"read"}
        refused = await flood
        assert sum(isinstance(f, TooManyRequests) for f in refused) >= 100

    asyncio.run(ask())
