"""Where a token goes: to the service, over TLS or on this machine, and to no proxy in clear text."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from lutra_agent.commands.service_check import ask_service
from lutra_agent.config.types import ServiceConfig
from lutra_client import AsyncClient, Client, Retries, Unreachable
from lutra_client.commands.program import main

from tests.support.servers import certificates
from tests.support.servers.raw_server import RawServer, raw_server

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
            assert list(client.databases.list()) == []

        async def asked() -> list[Any]:
            async with AsyncClient(service.url, TOKEN) as client:
                return [found async for found in client.databases.list()]

        assert asyncio.run(asked()) == []
        assert all(TOKEN.encode() in request for request in service.requests)
    assert len(service.requests) == 2
    assert proxy.requests == []


def test_what_is_for_another_machine_goes_through_the_proxy_unread(proxy: RawServer) -> None:
    once = Retries(attempts=1)
    with Client("https://lutra.example", TOKEN, retries=once) as client, pytest.raises(Unreachable):
        list(client.databases.list())
    assert proxy.requests
    assert all(r.startswith(b"CONNECT lutra.example:443") and TOKEN.encode() not in r for r in proxy.requests)


CLEAR = ("http://10.255.255.1:8000", "http://lutra.example", "HTTP://lutra.example/x", "http://127.0.0.1.example")
KEPT = ("http://localhost:8000", "http://127.0.0.1", "http://127.0.0.2:1", "http://[::1]:8000", "https://x.example")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_plain_http_is_for_this_machine_alone(kind: Any) -> None:
    for url in CLEAR:
        with pytest.raises(ValueError, match=r"plain http is for loopback only.*Use https, or a tunnel"):
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


@contextmanager
def over_tls(folder: Path) -> Iterator[tuple[str, Path]]:
    """The address of a service whose certificate is of an authority of its own, and that authority."""
    ca = certificates.authority(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates.server(folder, ca))
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with suppress(OSError), context.wrap_socket(connection, server_side=True) as encrypted:
                    encrypted.recv(65536)
                    NOTHING(encrypted, None)

        threading.Thread(target=answer, daemon=True).start()
        yield f"https://127.0.0.1:{listening.getsockname()[1]}", ca
        listening.shutdown(socket.SHUT_RDWR)


def test_an_authority_of_ones_own_is_trusted_where_it_is_named_and_the_remedy_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with over_tls(tmp_path) as (url, ca):
        monkeypatch.setenv("LUTRA_URL", url)
        monkeypatch.setenv("LUTRA_TOKEN", TOKEN)
        refused = CliRunner().invoke(main, ["status"])
        assert "set LUTRA_CA_FILE" in refused.output
        assert "lutra up" not in refused.output
        monkeypatch.setenv("LUTRA_CA_FILE", str(ca))
        with Client.from_environment() as client:
            assert list(client.databases.list()) == []
        monkeypatch.setenv("LUTRA_CA_FILE", str(tmp_path / "no.pem"))
        assert "no.pem contains no readable certificates" in CliRunner().invoke(main, ["status"]).output

        service = ServiceConfig(url=url, database="db_1", ca_file=ca)
        stranger = ServiceConfig(url=url, database="db_1")
        monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
        assert ask_service(service).remedy == ""
        assert ask_service(stranger).remedy.startswith("set service.ca_file")
        assert (
            "no.pem contains no readable certificates"
            in ask_service(replace(service, ca_file=tmp_path / "no.pem")).said
        )
