"""Lists and streams as a person at a notebook meets them, and what is no answer of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import httpx
import pytest
from lutra_client import AsyncClient, Client, NotLutra

ITEMS = [{"id": f"db_{n}", "name": f"shop {n}"} for n in range(5)]


class Paged:
    """A service with one list, two items a page; how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        at = int(request.url.params.get("after", 0))
        left = at + 2 < len(ITEMS)
        return httpx.Response(200, json={"items": ITEMS[at : at + 2], "next": str(at + 2) if left else None})


def client_of(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client(http=httpx.Client(base_url="http://lutra", transport=httpx.MockTransport(answer)))


def test_a_list_has_a_length_an_index_and_a_slice_and_is_read_once_for_them() -> None:
    service = Paged()
    found = client_of(service).databases.list()
    assert found[0] == ITEMS[0]
    assert service.asked == 1
    assert list(found) == ITEMS
    assert (len(found), found[-1], found[1:3]) == (5, ITEMS[4], ITEMS[1:3])
    assert service.asked == 1 + 3
    with pytest.raises(IndexError):
        found[5]


def test_the_first_item_costs_one_page_and_a_list_all_of_them() -> None:
    service = Paged()
    found = client_of(service).databases.list()
    assert (found.first(), service.asked) == (ITEMS[0], 1)
    assert (found.list(), service.asked) == (ITEMS, 1 + 3)
    empty = client_of(lambda _: httpx.Response(200, json={"items": [], "next": None})).databases.list()
    assert (empty.first(), empty.list()) == (None, [])

    async def awaited() -> None:
        http = httpx.AsyncClient(base_url="http://lutra", transport=httpx.MockTransport(Paged()))
        later = AsyncClient(http=http).databases.list()
        assert (await later.first(), await later.list()) == (ITEMS[0], ITEMS)

    asyncio.run(awaited())


def test_moments_are_datetimes_both_ways() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        risk = {"name": "row_locks", "until": "2027-03-31T00:00:00Z", "accepted_at": "2026-11-25T21:00:00.5+01:00"}
        page = {"items": [{"id": "db_1", "created_at": "2026-01-02T03:04:05Z", "retired_at": None}], "next": None}
        return httpx.Response(200, json=risk if request.method == "PUT" else page)

    client = client_of(answer)
    accepted = client.databases.accept_symptom("db_1", "row_locks", because="x", until=datetime(2027, 3, 31))
    assert accepted["until"] == datetime(2027, 3, 31, tzinfo=UTC)
    assert accepted["accepted_at"] == datetime(2026, 11, 25, 20, 0, 0, 500_000, tzinfo=UTC)
    assert json.loads(sent[0].content)["until"] == "2027-03-31T00:00:00+00:00"
    found = client.databases.list()
    assert (found[0]["created_at"], found[0]["retired_at"]) == (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None)
    assert str(found.to_frame().created_at.dt.tz) == "UTC"
    line = {"id": "win_1", "start": "2026-01-02T03:04:05Z", "end": None, "received_at": "2026-01-02T03:05:00Z"}
    (row,) = client_of(lambda _: httpx.Response(200, text=json.dumps(line) + "\n")).observations.list()
    assert (row["start"], row["end"]) == (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None)
    list(client.audit.list(since=date(2026, 1, 1)))
    assert sent[-1].url.params["since"] == "2026-01-01"


def test_a_client_that_was_lent_is_left_as_it_was() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return Paged()(request)

    mine = httpx.Client(base_url="http://lutra", transport=httpx.MockTransport(answer), headers={"X-Mine": "1"})
    with Client(token="lutra_word", http=mine) as client:
        list(client.databases.list())
    assert {r.headers["Authorization"] for r in sent} == {"Bearer lutra_word"}
    assert {r.headers["X-Mine"] for r in sent} == {"1"}
    assert "Authorization" not in mine.headers
    assert not mine.is_closed
    with pytest.raises(ValueError, match=r"url, ca_file: .* as Client\(base_url=…, verify=…\)"):
        Client("http://lutra", http=mine, ca_file="own.pem")
    with pytest.raises(ValueError, match=r"needs the service's address: Client\(base_url=…\)"):
        Client(http=httpx.Client())


def test_a_loop_asks_page_by_page_and_anew_each_time() -> None:
    service = Paged()
    found = client_of(service).databases.list()
    for _ in range(2):
        assert [item["id"] for item in found] == [item["id"] for item in ITEMS]
    assert service.asked == 6


def test_a_notebook_shows_a_table_and_no_internals() -> None:
    client = client_of(Paged())
    found = client.databases.list(limit=2)
    assert (
        repr(found) == "<GET /v1/databases?limit=2, a list: a loop, an index, first(), list() or to_frame() reads it>"
    )
    assert "shop 4" in str(found._repr_html_())
    assert repr(client.observations.list()).startswith("<GET /v1/observations, observations: ")


def login(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, html="<html>\n Sign in</html>")


def test_a_page_of_somebody_between_is_no_answer() -> None:
    client = client_of(login)
    asked: list[Callable[[], Any]] = [
        lambda: client.databases.get("db_1"),
        lambda: list(client.databases.list()),
        lambda: list(client.observations.list()),
    ]
    for ask in asked:
        with pytest.raises(NotLutra, match=r"200 with text/html.*a login page between.*<html> Sign in"):
            ask()

    async def awaited() -> None:
        http = httpx.AsyncClient(base_url="http://lutra", transport=httpx.MockTransport(login))
        async with AsyncClient(http=http) as client:
            await client.databases.get("db_1")

    with pytest.raises(NotLutra):
        asyncio.run(awaited())


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_without_a_scheme_and_an_empty_token_are_refused_at_once(kind: Any) -> None:
    with pytest.raises(ValueError, match="an address begins with http:// or https:// and a host, got 'lutra:8000'"):
        kind("lutra:8000")
    with pytest.raises(ValueError, match="the token is empty"):
        kind(token=" ")


def test_units_and_facts_come_with_a_frame() -> None:
    row = {
        "id": "win_1",
        "database": "db_1",
        "engine": "postgresql",
        "engine_version": "16.4",
        "windows": 1,
        "settings": {"shared_buffers": 131072, "jit": "on"},
        "metrics": {"qps": 1.0, "p99_ms": 2.0},
        "context": {},
        "bounds": {"p99_ms": 3.0},
    }
    client = client_of(lambda _: httpx.Response(200, text=json.dumps(row) + "\n"))
    frame = client.observations.list().to_frame()
    assert frame.attrs["units"] == {
        "setting.shared_buffers": "8kB",
        "metric.p99_ms": "milliseconds",
        "metric.qps": "statements per second",
        "bound.p99_ms": "milliseconds",
    }


def test_an_empty_frame_has_the_columns_that_were_asked_for() -> None:
    client = client_of(lambda _: httpx.Response(200, text=""))
    frame = client.observations.list(metric=["qps"]).to_frame()
    assert frame.groupby("database")["metric.qps"].median().empty
