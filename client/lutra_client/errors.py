"""Errors of the client, in the service's own words if it sent any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from lutra_models.errors import LutraError

SHOWN = 300
"""The most characters shown of an answer that is not a problem document."""


class Unreachable(LutraError):
    """No answer came: the service is away, its certificate is not trusted, or the connection broke."""

    code = "unreachable"

    @property
    def way_out(self) -> str:
        """The action that the caller can take."""
        if "CERTIFICATE_VERIFY_FAILED" in str(self):
            return (
                "set LUTRA_CA_FILE to the certificate (PEM) of the authority that signed the service's, or LUTRA_URL "
                "to a name in this certificate"
            )
        return "start it (`lutra up` on this machine), or set the address with `lutra login URL` or LUTRA_URL"


class NotLutra(LutraError):
    """The answer does not come from the service: it is a page of a proxy, or something else at this address."""

    code = "not_lutra"


class TimedOut(LutraError):
    """The awaited state did not come before the deadline."""

    code = "timed_out"


class Problem(LutraError):
    """The service refused, or failed. `errors` names each faulty field of a body, `at` and `message`."""

    def __init__(self, response: httpx.Response, told: Mapping[str, Any]) -> None:
        self.status = response.status_code
        self.code = str(told.get("code", "error"))
        self.detail = str(told.get("detail") or response.text[:SHOWN] or response.reason_phrase)
        self.errors: list[dict[str, str]] = list(told.get("errors", ()))
        self.request_id: str | None = told.get("request_id")
        self.document = dict(told)
        asked = f"{response.request.method} {response.request.url.path}"
        super().__init__(f"{asked}: {self.status} {self.code}: {self.detail}")


class BadRequest(Problem):
    """400, 405, 408, 413, 415, 422: the request is at fault."""


class Unauthorized(Problem):
    """401: there is no valid token."""


class Forbidden(Problem):
    """403: the token has another scope, or is bound to another database."""


class NotFound(Problem):
    """404: there is nothing with this id."""


class Conflict(Problem):
    """409: the request is valid, but conflicts with what is stored."""


class TooBusy(Problem):
    """429, 503: try later, after `retry_after_s` if the service named a time."""

    def __init__(self, response: httpx.Response, told: Mapping[str, Any]) -> None:
        super().__init__(response, told)
        self.retry_after_s = retry_after_s(response)


class ServiceError(Problem):
    """5xx: the service failed."""


_KINDS: dict[int, type[Problem]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: TooBusy,
    503: TooBusy,
}


def unreachable(method: str, path: str, error: httpx.TransportError) -> Unreachable:
    """The error for a service that cannot be reached. It names the service without the rest of its URL."""
    try:
        url = error.request.url
    except RuntimeError:
        place = ""
    else:
        place = f" at {url.scheme}://{url.netloc.decode('ascii')}" if url.host else ""
    return Unreachable(f"{method} {path}{place}: {type(error).__name__}: {error}")


def not_lutra(response: httpx.Response) -> NotLutra:
    """The body has to be read."""
    asked, told = response.request, " ".join(response.text[:SHOWN].split())
    place = f"{asked.url.scheme}://{asked.url.netloc.decode('ascii')}"
    kind = response.headers.get("content-type", "no type")
    return NotLutra(
        f"{asked.method} {asked.url.path} at {place}: {response.status_code} with {kind}, which is "
        "not an answer of the "
        f"service; is a proxy or a login page between? It begins: {told}"
    )


def problem(response: httpx.Response) -> Problem:
    """The refusal as its exception. The body has to be read."""
    try:
        document = response.json()
    except ValueError:
        document = None
    status = response.status_code
    kind = _KINDS.get(status, ServiceError if status >= 500 else BadRequest)
    return kind(response, document if isinstance(document, dict) else {})


def retry_after_s(response: httpx.Response) -> float | None:
    """The whole seconds of `Retry-After`; None if it says none."""
    text = response.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None
