"""HTTP whose exchanges are bounded as a whole: in time, in bytes, and in the values of an answer's JSON.

The only module that makes requests. Headers of an answer may take HEADERS_BYTES; h11 ends at 100 KiB by itself.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import httpcore
from pydantic_core import from_json

from lutra_agent.config.types import LOOPBACK
from lutra_agent.errors import ConfigError
from lutra_agent.http.network import Budget, Network

HEADERS_BYTES = 128 << 10
KEEP_ALIVE_S = 5.0


class HttpFailed(Exception):
    """No answer came, or none that may be used."""


@dataclass(frozen=True)
class Bound:
    """The limits of one exchange; `items` counts the values in an answer's JSON, about."""

    seconds: float
    size: int = 1 << 20
    items: int = 20_000


@dataclass(frozen=True)
class Answer:
    """`headers` has lower-case names."""

    status: int
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    items: int = 20_000

    def json_bytes(self) -> bytes:
        """The content, if it may be parsed as JSON. Raises ValueError for more values than allowed.

        A megabyte of `[[],[],…]` takes forty once it is parsed.
        """
        if sum(self.content.count(mark) for mark in (b"[", b"{", b",")) > self.items:
            raise ValueError(f"more than {self.items} values")
        return self.content

    def document(self) -> dict[str, Any]:
        """Raises ValueError if it is no JSON object, nests too deeply or holds too much."""
        document = from_json(self.json_bytes())
        if not isinstance(document, dict):
            raise ValueError("no JSON object")
        return document


class Http(Protocol):
    def exchange(
        self, method: str, path: str, bound: Bound, headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> Answer:
        """Raises HttpFailed."""
        ...

    def end(self) -> None:
        """From another thread: the open exchange fails now, and so do all later ones."""
        ...

    def close(self) -> None: ...


class BoundedHttp:
    """One host, one connection at a time, for one thread. Follows no redirect."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        ca_file: Path | None = None,
    ) -> None:
        """Raises ConfigError if `ca_file` holds no certificates."""
        self._url = url
        parts = urlsplit(url)
        self._headers = {"Host": parts.netloc, "Accept-Encoding": "identity", **(headers or {})}
        self._budget = Budget(monotonic)
        self._network = Network(self._budget)
        self._pool = _pool(url, self._network, ca_file)

    def exchange(
        self, method: str, path: str, bound: Bound, headers: Mapping[str, str] | None = None, content: bytes = b""
    ) -> Answer:
        self._budget.begin(bound.seconds, bound.size + HEADERS_BYTES)
        sent = list({**self._headers, **(headers or {})}.items())
        try:
            with self._pool.stream(method, self._url + path, headers=sent, content=content or None) as response:
                return _read(response, bound)
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
            raise HttpFailed(f"{type(error).__name__} {error}") from error

    def end(self) -> None:
        self._network.shut()

    def close(self) -> None:
        self._pool.close()


def _read(response: httpcore.Response, bound: Bound) -> Answer:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise HttpFailed(f"the answer is encoded as {encoding[:40]!r}, which was not requested")
    content = bytearray()
    for piece in response.iter_stream():
        content += piece
        if len(content) > bound.size:
            raise HttpFailed(f"the answer is longer than {bound.size} bytes")
    reason = response.extensions.get("reason_phrase", b"").decode("latin-1")
    return Answer(response.status, reason, headers, bytes(content), bound.items)


def _pool(url: str, network: Network, ca_file: Path | None) -> httpcore.ConnectionPool:
    options: dict[str, Any] = {
        "ssl_context": _tls(url, ca_file),
        "keepalive_expiry": KEEP_ALIVE_S,
        "network_backend": network,
    }
    proxy = proxy_for(url)
    if proxy is None:
        return httpcore.ConnectionPool(**options)
    parts = urlsplit(proxy)
    if parts.scheme not in ("http", "https"):
        raise ConfigError(f"the environment names a proxy of kind {parts.scheme!r}; expected http or https")
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    tls = _tls(bare) if parts.scheme == "https" else None
    return httpcore.HTTPProxy(bare, proxy_auth=auth, proxy_ssl_context=tls, **options)


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for this address; never one for this machine itself."""
    parts = urlsplit(url)
    if parts.hostname in LOOPBACK:
        return None
    from urllib.request import getproxies, proxy_bypass  # takes memory that loopback saves

    proxies = getproxies()
    if proxy_bypass(parts.netloc):
        return None
    found = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{found}" if found and "://" not in found else found


def _tls(url: str, ca_file: Path | None = None) -> ssl.SSLContext:
    # Loading the certificate authorities costs some MB that a plain connection never uses.
    if not url.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # one of OpenSSL's errors is one too
        raise ConfigError(f"service.ca_file {ca_file} contains no readable certificates: {error}") from error
