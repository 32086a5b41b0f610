"""Rates and places: what one client may use up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lutra_service.edge.addresses import client_address, counted
from lutra_service.edge.limits import BURST_S, MAX_KEYS, Busy, Places, Rate, TooManyRequests
from lutra_service.edge.protocol import Connections

from tests.support.service.hosted import running

MADE_UP = {"Authorization": "Bearer lutra_" + "x" * 43}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def granted(rate: Rate, key: str) -> bool:
    try:
        rate.take(key, "a key")
    except TooManyRequests:
        return False
    return True


def test_a_rate_grants_its_burst_then_its_rate() -> None:
    clock = Clock()
    rate = Rate(2.0, clock)
    burst = int(2 * BURST_S)
    assert [granted(rate, "a") for _ in range(burst + 1)] == [True] * burst + [False]
    clock.now += 1.0
    assert [granted(rate, "a") for _ in range(3)] == [True, True, False]
    clock.now += 1e6
    assert sum(granted(rate, "a") for _ in range(100)) == burst


def test_one_keys_requests_take_nothing_of_anothers() -> None:
    rate = Rate(1.0, Clock())
    while granted(rate, "a"):
        pass
    assert granted(rate, "b")


def test_a_refusal_says_when_the_next_request_is_welcome() -> None:
    clock = Clock()
    rate = Rate(0.1, clock)
    assert granted(rate, "a")
    with pytest.raises(TooManyRequests) as refused:
        rate.take("a", "a key")
    clock.now += refused.value.retry_after_s
    assert granted(rate, "a")


def test_keys_are_forgotten_rather_than_piled_up() -> None:
    rate = Rate(1.0, Clock())
    for n in range(MAX_KEYS + 500):
        granted(rate, str(n))
    assert len(rate) == MAX_KEYS


def test_places_are_bounded_in_all_and_for_each() -> None:
    async def tried() -> None:
        places = Places("things", 1, waiting=2, each=2)
        order: list[str] = []
        free = asyncio.Event()

        async def one(key: str) -> None:
            async with places.taken(key):
                order.append(key)
                await free.wait()

        under_way = [asyncio.create_task(one(key)) for key in ("a", "a", "b")]
        await asyncio.sleep(0)
        assert order == ["a"]
        with pytest.raises(TooManyRequests):
            await one("a")
        with pytest.raises(Busy):
            await one("c")
        under_way[1].cancel()  # whoever stops waiting gives the place back
        await asyncio.sleep(0)
        free.set()
        await one("c")
        await asyncio.wait(under_way)
        assert order == ["a", "b", "c"]

    asyncio.run(tried())


def test_requests_of_one_token_are_limited_and_anothers_are_not(tmp_path: Path, five: float) -> None:
    with running(tmp_path, requests_per_s=five) as service:
        database = service.database()
        agent = service.agent(database)
        answers = [service.ask("GET", f"/v1/databases/{database}") for _ in range(10)]
        assert [a.status_code for a in answers if a.status_code not in (200, 429)] == []
        last = answers[-1]
        assert (last.status_code, last.json()["code"]) == (429, "too_many_requests")
        assert last.headers["content-type"] == "application/problem+json"
        assert int(last.headers["retry-after"]) >= 1
        assert agent.send()["duplicate"] is False


def test_made_up_tokens_use_up_their_address_but_no_valid_tokens_share(tmp_path: Path, five: float) -> None:
    with running(tmp_path, anonymous_per_s=five) as service:
        agent = service.agent(service.database())
        path = f"/v1/databases/{agent.database}"
        statuses = [service.client.get(path, headers=MADE_UP).status_code for _ in range(8)]
        assert statuses == [401] * 5 + [429] * 3
        assert service.client.get("/metrics").status_code == 429
        assert service.client.get(path).status_code == 429
        assert service.client.get("/nothing").status_code == 429
        assert agent.send()["duplicate"] is False
        fresh = service.agent(agent.database)  # a token that the service has never seen before
        fresh.sequence = 100
        assert fresh.send()["duplicate"] is False
        assert {service.client.get("/healthz").status_code for _ in range(20)} == {200}


class Line:
    def __init__(self) -> None:
        self.ended = False

    def abort(self) -> None:
        self.ended = True


def test_the_oldest_stranger_makes_room_and_who_showed_a_token_stays() -> None:
    connections, lines = Connections(3, 3), [Line() for _ in range(6)]
    connections.opened(lines[0], "a")
    connections.welcome(lines[0])
    for n, line in enumerate(lines[1:]):
        connections.opened(line, f"b{n}")
    assert [line.ended for line in lines] == [False, True, True, True, False, False]
    assert (len(connections), connections.strangers) == (3, 2)


def test_an_address_makes_room_among_its_own() -> None:
    connections, lines = Connections(100, 2), [Line() for _ in range(4)]
    for line, address in zip(lines, ("a", "b", "a", "a"), strict=True):
        connections.opened(line, address)
    assert [line.ended for line in lines] == [True, False, False, False]


def test_a_new_connection_is_closed_where_all_others_showed_a_token() -> None:
    connections, lines = Connections(2, 2), [Line() for _ in range(3)]
    for line in lines:
        connections.opened(line, "a")
        connections.welcome(line)
    assert [line.ended for line in lines] == [False, False, True]


def test_closed_connections_leave_nothing_behind() -> None:
    connections, line = Connections(2, 2), Line()
    connections.opened(line, "a")
    connections.closed(line)
    connections.closed(line)
    assert (len(connections), connections.strangers) == (0, 0)
    assert not any(vars(connections)[name] for name in ("_address", "_strangers", "_strangers_of", "_open"))


@pytest.mark.parametrize(
    ("forwarded", "behind", "address"),
    [
        ([], False, "192.0.2.1"),
        ([], True, "192.0.2.1"),
        (["198.51.100.9"], False, "192.0.2.1"),
        (["198.51.100.9"], True, "198.51.100.9"),
        (["203.0.113.1, 198.51.100.9"], True, "198.51.100.9"),
        (["203.0.113.1", "198.51.100.9"], True, "198.51.100.9"),
        (["unknown"], True, "192.0.2.1"),
        (["x" * 5000], True, "192.0.2.1"),
        (["2001:db8::1"], True, "2001:db8::1"),
    ],
)
def test_only_a_proxys_own_word_names_another_address(forwarded: list[str], behind: bool, address: str) -> None:
    scope = {"client": ("192.0.2.1", 1), "headers": [(b"x-forwarded-for", f.encode()) for f in forwarded]}
    assert client_address(scope, behind) == address


def test_an_ipv6_customer_has_one_share() -> None:
    assert counted("2001:db8:1:2::1") == counted("2001:db8:1:2:ffff::9") != counted("2001:db8:1:3::1")
    assert counted("::ffff:192.0.2.1") == counted("192.0.2.1") == "192.0.2.1"
    assert counted("testclient") == "testclient"
