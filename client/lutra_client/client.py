"""The two clients."""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from lutra_client import contexts
from lutra_client.drivers import Awaiting, Blocking
from lutra_client.exchange import Retries
from lutra_client.waiting import Calls

TIMEOUT_S = 60.0
H = TypeVar("H", httpx.Client, httpx.AsyncClient)


class Client(Calls[Blocking]):
    """Talks to one service, with one token. Close it, or use it in a `with`.

        with Client.from_environment() as client:
            for database in client.databases.list():
                print(database["name"], client.sessions.list(database["id"]).first())

    Plain http is allowed only on loopback: elsewhere the token would travel in clear text. Requests to this machine
    bypass every proxy. `ca_file` holds the authority that signed the service's certificate, instead of the usual ones.
    `http` is your own httpx client with the service's base URL, for proxies, other time limits or a network that you
    trust; it is used unchanged, and stays open. Every call may raise Problem (with the service's message) or
    Unreachable.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout_s: float | None = None,
        retries: Retries | None = None,
        ca_file: str | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        """`url` defaults to this machine's service and `timeout_s` to 60. Raises ValueError for an invalid address or
        token, for plain http beyond loopback, for a `ca_file` without certificates, and for arguments that `http`
        already has.
        """
        reached = _reached(httpx.Client, http, url, timeout_s, ca_file)
        super().__init__(Blocking(reached, retries or Retries(), _bearer(token), lent=http is not None))

    @classmethod
    def from_environment(cls) -> Self:
        """A client from `LUTRA_URL`, `LUTRA_TOKEN` and `LUTRA_CA_FILE`. Variables that are not set come from the
        context in use, which `lutra up` or `lutra login` saved. Raises ValueError without a token.
        """
        context = _named()
        return cls(context.url, context.token, ca_file=context.ca_file)

    def close(self) -> None:
        """Close its connections; those of your own `http` stay open."""
        if not self.driver.lent:
            self.driver.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncClient(Calls[Awaiting]):
    """The same for asyncio: calls are awaited, and lists are iterated with `async for`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout_s: float | None = None,
        retries: Retries | None = None,
        ca_file: str | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        """As for Client."""
        reached = _reached(httpx.AsyncClient, http, url, timeout_s, ca_file)
        super().__init__(Awaiting(reached, retries or Retries(), _bearer(token), lent=http is not None))

    @classmethod
    def from_environment(cls) -> Self:
        """As for Client."""
        context = _named()
        return cls(context.url, context.token, ca_file=context.ca_file)

    async def close(self) -> None:
        """Close its connections; those of your own `http` stay open."""
        if not self.driver.lent:
            await self.driver.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()


def _reached(kind: type[H], lent: H | None, url: str | None, timeout_s: float | None, ca_file: str | None) -> H:
    """The client of httpx that sends, the one that was lent if any. Raises ValueError."""
    if lent is None:
        made: H = kind(**_place(url or contexts.URL, ca_file), timeout=TIMEOUT_S if timeout_s is None else timeout_s)
        return made
    own = {"url": "base_url", "timeout_s": "timeout", "ca_file": "verify"}
    given = [n for n, v in (("url", url), ("timeout_s", timeout_s), ("ca_file", ca_file)) if v is not None]
    if given:
        wanted = ", ".join(f"{own[name]}=…" for name in given)
        raise ValueError(f"{', '.join(given)}: an http client of your own has its own, as {kind.__name__}({wanted})")
    if not lent.base_url.host:
        raise ValueError(f"an http client of your own needs the service's address: {kind.__name__}(base_url=…)")
    return lent


def _place(url: str, ca_file: str | None) -> dict[str, Any]:
    """What httpx is told of the service's address: a proxy of the environment is for other machines."""
    place = httpx.URL(url)
    if place.scheme not in ("http", "https") or not place.host:
        raise ValueError(f"an address begins with http:// or https:// and a host, got {url!r}")
    trusted = {} if ca_file is None else {"verify": _trusting(ca_file)}
    if _is_loopback(place.host):
        return {"base_url": place, **trusted, "mounts": dict.fromkeys(("http://", "https://", "all://"))}
    if place.scheme == "http":
        raise ValueError(
            f"plain http is for loopback only, got host {place.host!r}; the token would travel in clear text. Use "
            "https, or a tunnel to this machine (ssh -L 8000:127.0.0.1:8000 HOST); on a network that you trust, pass "
            "http=httpx.Client(base_url=…) to Client"
        )
    return {"base_url": place, **trusted}


def _trusting(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # one of OpenSSL's errors is one too
        raise ValueError(f"{ca_file} contains no readable certificates: {error}") from error


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _bearer(token: str | None) -> dict[str, str]:
    """Raises ValueError for a text that no header can hold: what would send it names it whole in its complaint."""
    if token is None:
        return {}
    word = token.strip()
    if not word:
        raise ValueError("the token is empty: expected a single word that begins with lutra_, or None for no token")
    if not word.isascii() or not word.isprintable() or " " in word:
        raise ValueError("invalid token: expected a single word that begins with lutra_, without spaces or line breaks")
    return {"Authorization": f"Bearer {word}"}


def _named() -> contexts.Context:
    context = contexts.current()
    if context.token is None:
        raise ValueError(
            f"there is no token for {context.url}: `lutra up` starts a service here, `lutra login URL` uses another "
            "one, or set LUTRA_TOKEN"
        )
    return context
