"""Where a token goes: to the service, over TLS or on this machine, and to no proxy in clear text."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from lutra_client import AsyncClient, Client, Retries, Unreachable
from lutra_client.advice import main

from tests.support.raw_server import RawServer, raw_server

TOKEN = "lutra_" + "s" * 43
PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


def says(body: bytes) -> Any:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    def say(connection: Any, _: RawServer) -> None:
        connection.sendall(head + body)

    return say


NOTHING = says(b'{"items": [], "next": null}')


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A proxy that the environment names for everything."""
    with raw_server(NOTHING) as found:
        for name in PROXIES:
            monkeypatch.setenv(name, found.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield found


def test_a_proxy_of_the_environment_sees_no_token_for_this_machine(proxy: RawServer) -> None:
    with raw_server(NOTHING) as service:
        with Client(service.url, TOKEN) as client:
            assert list(client.list_databases()) == []

        async def asked() -> list[Any]:
            async with AsyncClient(service.url, TOKEN) as client:
                return [found async for found in client.list_databases()]

        assert asyncio.run(asked()) == []
        assert all(TOKEN.encode() in request for request in service.requests)
    assert len(service.requests) == 2
    assert proxy.requests == []


def test_what_is_for_another_machine_goes_through_the_proxy_unread(proxy: RawServer) -> None:
    once = Retries(attempts=1)
    with Client("https://lutra.example", TOKEN, retries=once) as client, pytest.raises(Unreachable):
        list(client.list_databases())
    assert proxy.requests
    assert all(r.startswith(b"CONNECT lutra.example:443") and TOKEN.encode() not in r for r in proxy.requests)


CLEAR = ("http://10.255.255.1:8000", "http://lutra.example", "HTTP://lutra.example/x", "http://127.0.0.1.example")
KEPT = ("http://localhost:8000", "http://127.0.0.1", "http://127.0.0.2:1", "http://[::1]:8000", "https://x.example")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_plain_http_is_for_this_machine_alone(kind: Any) -> None:
    for url in CLEAR:
        with pytest.raises(ValueError, match=r"plain http is for loopback only.*use https, or a tunnel"):
            kind(url, TOKEN)
    for url in KEPT:
        assert kind(url, TOKEN).driver.http.base_url == url
    own = (httpx.Client if kind is Client else httpx.AsyncClient)(base_url="http://lutra:8000")
    assert kind(http=own, token=TOKEN).driver.http is own


def test_the_program_says_what_to_do_about_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTRA_URL", "http://10.255.255.1:8000")
    monkeypatch.setenv("LUTRA_TOKEN", TOKEN)
    said = CliRunner().invoke(main, ["status", "shop"])
    assert said.exit_code == 1
    assert "plain http is for loopback only, got host '10.255.255.1'" in said.output
