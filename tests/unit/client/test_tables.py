"""Lists and streams as a person at a notebook meets them, and what is no answer of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
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
    found = client_of(service).list_databases()
    assert found[0] == ITEMS[0]
    assert service.asked == 1
    assert list(found) == ITEMS
    assert (len(found), found[-1], found[1:3]) == (5, ITEMS[4], ITEMS[1:3])
    assert service.asked == 1 + 3
    with pytest.raises(IndexError):
        found[5]


def test_a_loop_asks_page_by_page_and_anew_each_time() -> None:
    service = Paged()
    found = client_of(service).list_databases()
    for _ in range(2):
        assert [item["id"] for item in found] == [item["id"] for item in ITEMS]
    assert service.asked == 6


def test_a_notebook_shows_a_table_and_no_internals() -> None:
    client = client_of(Paged())
    found = client.list_databases(limit=2)
    assert repr(found) == "<GET /v1/databases?limit=2, a list: a loop, an index or to_frame() reads it>"
    assert "shop 4" in str(found._repr_html_())
    assert repr(client.list_observations()).startswith("<GET /v1/observations, observations: ")


def login(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, html="<html>\n Sign in</html>")


def test_a_page_of_somebody_between_is_no_answer() -> None:
    client = client_of(login)
    asked: list[Callable[[], Any]] = [
        lambda: client.get_database("db_1"),
        lambda: list(client.list_databases()),
        lambda: list(client.list_observations()),
    ]
    for ask in asked:
        with pytest.raises(NotLutra, match=r"200 with text/html.*a login page between.*<html> Sign in"):
            ask()

    async def awaited() -> None:
        http = httpx.AsyncClient(base_url="http://lutra", transport=httpx.MockTransport(login))
        async with AsyncClient(http=http) as client:
            await client.get_database("db_1")

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
    frame = client.list_observations().to_frame()
    assert frame.attrs["units"] == {
        "setting.shared_buffers": "8kB",
        "metric.p99_ms": "milliseconds",
        "metric.qps": "statements per second",
        "bound.p99_ms": "milliseconds",
    }


def test_an_empty_frame_has_the_columns_that_were_asked_for() -> None:
    client = client_of(lambda _: httpx.Response(200, text=""))
    frame = client.list_observations(metric=["qps"]).to_frame()
    assert frame.groupby("database")["metric.qps"].median().empty
