"""Exchanges with hosts that are slow, long-winded or not what they seem, over real sockets."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from lutra_agent.config.types import PrometheusConfig, ServiceConfig
from lutra_agent.errors import ConfigError, ServiceUnavailable
from lutra_agent.http.client import Bound, BoundedHttp, HttpFailed, proxy_for
from lutra_agent.http.network import addresses
from lutra_agent.metrics.prometheus import Prometheus
from lutra_agent.reporting.transport import Transport

from tests.support.fakes.clock import START
from tests.support.servers.raw_server import RawServer, Say, answering, dripping, raw_server
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.slow

BOUND = Bound(seconds=PATIENCE_S, size=1 << 20)
OK = b"HTTP/1.1 200 OK\r\n"
ENDLESS = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class Ticking:
    """A clock that goes on by a second each time that somebody reads it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def ask(url: str, bound: Bound = BOUND, monotonic: Callable[[], float] | None = None, content: bytes = b"") -> bytes:
    http = BoundedHttp(url, monotonic=monotonic) if monotonic else BoundedHttp(url)
    try:
        return http.exchange("POST", "/v1/x", bound, content=content).content
    finally:
        http.close()


@pytest.fixture(params=["status line", "headers", "length", "chunks", "interim answers"])
def dripper(request: pytest.FixtureRequest) -> Iterator[RawServer]:
    says: dict[str, Say] = {
        "status line": dripping(b"HTTP/1.1 200 ", b"O"),
        "headers": dripping(OK + b"X-Slow: ", b"a"),
        "length": dripping(OK + b"Content-Length: 1000000\r\n\r\n", b"a"),
        "chunks": dripping(ENDLESS, b"1\r\na\r\n"),
        "interim answers": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    }
    with raw_server(says[request.param]) as server:
        yield server


def test_an_answer_that_comes_drop_by_drop_is_given_up_when_the_exchanges_time_is_over(dripper: RawServer) -> None:
    with pytest.raises(HttpFailed, match="not done within 30 s"):
        ask(dripper.url, Bound(seconds=30.0), monotonic=Ticking())
    assert dripper.hung_up.wait(PATIENCE_S)


@pytest.mark.parametrize(
    "start", [OK + b"X-Long: ", OK + b"X: y\r\n" * 20_000, ENDLESS, OK + b"Connection: close\r\n\r\n", b""]
)
@pytest.mark.parametrize("drop", [b"1\r\na\r\n" * 20_000, b"HTTP/1.1 103 Early Hints\r\n\r\n" * 5_000])
def test_an_answer_without_an_end_is_given_up_at_its_bound(start: bytes, drop: bytes) -> None:
    with raw_server(dripping(start, drop)) as server, pytest.raises(HttpFailed):
        ask(server.url, Bound(seconds=1e6, size=1 << 16))


def test_an_answer_is_taken_up_to_its_bound_and_not_beyond() -> None:
    with raw_server(answering(b"x" * 1000)) as server:
        assert len(ask(server.url, Bound(PATIENCE_S, size=1000))) == 1000
        with pytest.raises(HttpFailed, match="longer than 999 bytes"):
            ask(server.url, Bound(PATIENCE_S, size=999))


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, identity", "x" * 500])
def test_an_encoded_answer_is_refused_and_never_unpacked(encoding: str) -> None:
    body = gzip.compress(b"[" * (1 << 20))
    with raw_server(answering(body, f"Content-Encoding: {encoding}")) as server:
        with pytest.raises(HttpFailed, match="was not requested"):
            ask(server.url)
        assert b"accept-encoding: identity\r\n" in server.requests[0].lower()


def test_a_peer_that_does_not_read_the_request_does_not_hold_it_for_ever() -> None:
    def deaf(connection: socket.socket, server: RawServer) -> None:
        server.ended.wait()

    with raw_server(deaf) as server, pytest.raises(HttpFailed, match="Timeout"):
        ask(server.url, Bound(seconds=0.5), content=b"x" * (64 << 20))


def test_a_peer_that_takes_a_connection_and_says_nothing_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as silent, pytest.raises(HttpFailed):
        ask(f"http://127.0.0.1:{silent.getsockname()[1]}", Bound(seconds=0.2))


def test_no_exchange_goes_on_or_begins_once_another_thread_has_ended_them() -> None:
    failed: list[HttpFailed] = []
    with raw_server(dripping(OK, b"")) as server:
        http = BoundedHttp(server.url)

        def hang() -> None:
            for _ in range(2):
                try:
                    http.exchange("GET", "/", Bound(seconds=1e6))
                except HttpFailed as error:
                    failed.append(error)

        thread = threading.Thread(target=hang, daemon=True)
        thread.start()
        assert server.reached.wait(PATIENCE_S)
        http.end()
        thread.join(PATIENCE_S)
    assert len(failed) == 2
    assert len(server.requests) == 1


def test_a_redirect_is_not_followed() -> None:
    with raw_server(answering(b"")) as other:
        with raw_server(answering(b"", f"Location: {other.url}/", status="307 Temporary Redirect")) as server:
            transport = Transport(ServiceConfig(server.url, "db_1"), "lutra_secret")
            with pytest.raises(ServiceUnavailable, match="307"):
                transport.send(b"")
        assert not other.requests


def test_the_token_travels_in_a_header_alone() -> None:
    with raw_server(answering(b"{}")) as server:
        Transport(ServiceConfig(server.url, "db_1"), "lutra_secret").send(b"")
        line, _, rest = server.requests[0].partition(b"\r\n")
        assert b"Authorization: Bearer lutra_secret\r\n" in rest
        assert b"secret" not in line


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_nothing_on_this_machine_is_asked_through_a_proxy(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vector = b'{"status": "success", "data": {"resultType": "scalar", "result": [1, "40"]}}'
    with raw_server(answering(b"{}")) as proxy, raw_server(answering(vector)) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        url = server.url.replace("127.0.0.1", host)
        assert Prometheus(PrometheusConfig(url, "q", "ms")).latency(START, START)
        with pytest.raises(ServiceUnavailable):
            Transport(ServiceConfig(url, "db_1"), "lutra_secret").send(b"")
        assert (len(server.requests), proxy.requests) == (2, [])


def test_another_host_is_asked_through_the_environments_proxy_unless_it_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", ".inside.example")
    assert proxy_for("https://lutra.example") == "http://proxy.example:3128"
    assert proxy_for("https://db.inside.example") is None
    assert proxy_for("http://lutra.example") is None


def test_a_proxy_is_given_its_own_password_and_asked_for_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(answering(b"{}")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("://", "://me:a%20b@"))
        monkeypatch.delenv("no_proxy", raising=False)
        assert ask("http://metrics.example:9090") == b"{}"
    assert proxy.requests[0].startswith(b"POST http://metrics.example:9090/v1/x ")
    assert b"Proxy-Authorization: Basic bWU6YSBi\r\n" in proxy.requests[0]


def test_a_proxy_of_a_kind_that_is_not_spoken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://proxy.example")
    with pytest.raises(ConfigError, match="socks5"):
        BoundedHttp("https://lutra.example")


def test_a_name_that_nobody_resolves_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: resolver.wait() and [])
    try:
        with pytest.raises(HttpFailed, match=r"lutra\.example"):
            ask("http://lutra.example", Bound(seconds=0.2))
    finally:
        resolver.set()


def test_each_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(answering(b"here")) as server:
        port = int(server.url.rpartition(":")[2])
        found = [(2, 1, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]
        real = socket.getaddrinfo

        def resolve(host: str, *args: object, **options: object) -> object:
            return found if host == "two.example" else real(host, *args, **options)  # type: ignore[call-overload]

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        assert addresses("two.example", port, PATIENCE_S) == ["127.0.0.2", "127.0.0.1"]
        assert ask(f"http://two.example:{port}") == b"here"
