"""HTTP to the service. Errors are sorted into two kinds: try again later, or never again."""

from __future__ import annotations

import gzip
import ssl
from typing import Any, TypeVar

import httpx
from lutra_models.wire import Directive, Receipt, Report
from pydantic import BaseModel, ValidationError

from lutra_agent import __version__
from lutra_agent.config import ServiceConfig
from lutra_agent.errors import ServiceRefused, ServiceUnavailable

LATER = frozenset({401, 403, 408, 425, 429})
"""Client errors that an operator or time can cure, such as a token to renew."""

PROBLEM = "application/problem+json"

ANSWER_S = 30.0

Model = TypeVar("Model", bound=BaseModel)


def encode(report: Report) -> bytes:
    """A report as it is spooled and sent. No time stamp inside, so equal reports give equal bytes."""
    return gzip.compress(report.model_dump_json(exclude_none=True).encode(), compresslevel=6, mtime=0)


class Transport:
    """Raises ServiceUnavailable for what may work later and ServiceRefused for what never will."""

    def __init__(self, config: ServiceConfig, token: str, handler: httpx.BaseTransport | None = None) -> None:
        self._database = config.database
        self._client = httpx.Client(
            base_url=config.url,
            headers={"Authorization": f"Bearer {token}", "User-Agent": f"lutra-agent/{__version__}"},
            timeout=httpx.Timeout(ANSWER_S, connect=5.0),
            transport=handler,
            trust_env=not config.loopback,
            verify=ssl.create_default_context() if config.url.startswith("https:") else _no_tls(),
        )

    def send(self, body: bytes) -> Receipt:
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        answer = self._ask("POST", f"/v1/databases/{self._database}/reports", content=body, headers=headers)
        return _parsed(Receipt, answer)

    def directive(self, wait_s: float, agent: str, epoch: str) -> Directive | None:
        """Wait up to `wait_s` seconds for a directive to the agent that reports under this name and epoch."""
        answer = self._ask(
            "GET",
            f"/v1/databases/{self._database}/directive?agent={agent}&epoch={epoch}",
            headers={"Prefer": f"wait={int(min(wait_s, 60))}"},
            timeout=httpx.Timeout(ANSWER_S + wait_s, connect=5.0),
        )
        return None if answer.status_code == httpx.codes.NO_CONTENT else _parsed(Directive, answer)

    def start_session(self, body: dict[str, Any]) -> dict[str, Any]:
        return _document(self._ask("POST", f"/v1/databases/{self._database}/sessions", json=body))

    def get(self, path: str) -> dict[str, Any]:
        return _document(self._ask("GET", path))

    def close(self) -> None:
        self._client.close()

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            answer = self._client.request(method, path, **options)
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ServiceUnavailable(f"{method} {path}: {type(error).__name__} {error}") from error
        if answer.is_success:
            return answer
        problem = _problem(answer)
        said = f"{problem['code']} {problem.get('detail', '')}".strip()[:300] if problem else answer.reason_phrase
        message = f"{method} {path}: {answer.status_code} {said}"
        if problem and answer.is_client_error and answer.status_code not in LATER:
            raise ServiceRefused(message)
        raise ServiceUnavailable(message)


def _parsed(model: type[Model], answer: httpx.Response) -> Model:
    try:
        return model.model_validate_json(answer.content)
    except ValidationError as error:
        where = ", ".join(".".join(map(str, e["loc"])) + ": " + e["msg"] for e in error.errors()[:3])
        raise ServiceUnavailable(f"the service's answer is no {model.__name__}: {where}") from error


def _document(answer: httpx.Response) -> dict[str, Any]:
    try:
        document = answer.json()
    except ValueError as error:
        raise ServiceUnavailable("the service's answer is no JSON") from error
    if not isinstance(document, dict):
        raise ServiceUnavailable("the service's answer is no JSON object")
    return document


def _problem(answer: httpx.Response) -> dict[str, Any]:
    """The service's own words; empty where somebody in between answers, as a proxy does while the service is away."""
    if answer.headers.get("Content-Type", "").partition(";")[0].strip().lower() != PROBLEM:
        return {}
    try:
        problem = answer.json()
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) and problem.get("code") else {}


def _no_tls() -> ssl.SSLContext:
    # Loading the certificate authorities costs some MB that a plain loopback connection never uses.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
