"""The service's calls. Errors are sorted by their possible cure: time, an operator, or none."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from lutra_models.errors import LutraError, printable
from lutra_models.wire import Directive, Receipt, Report
from pydantic import BaseModel, ValidationError

from lutra_agent import __version__
from lutra_agent.config.types import ServiceConfig
from lutra_agent.errors import NotAdmitted, ServiceFailed, ServiceRefused, ServiceUnavailable
from lutra_agent.http.client import Answer, Bound, BoundedHttp, Http, HttpFailed

NO_CONTENT, NOT_FOUND, AWAY = 204, 404, 503
OPERATORS = frozenset({401, 403})
"""The token is not valid, or not for this purpose: an operator can cure that."""

CURABLE = ("name_taken", "database_retired")
"""Codes that an operator can cure as well, and that do not reject the report."""

FINAL = frozenset({400, 409, 413, 415, 422})
"""Statuses that reject a report for good. A database that is not found may be restored, or named correctly later."""

ASKED = frozenset(range(400, 500)) - OPERATORS - {408, 425, 429}
"""Statuses that end a command on which a person waits."""

PROBLEM = "application/problem+json"
JSON = {"Content-Type": "application/json"}

ANSWER_S = 30.0
LONGEST_POLL_S = 60.0
MOST_RETRY_AFTER_S = 600.0
SHOWN = 300
"""The most characters shown of a text from outside."""
MESSAGE = Bound(ANSWER_S)
PAGE = Bound(ANSWER_S, size=16 << 20, items=500_000)
"""The bound of the answers that `tune` reads: the trials of a whole session in one answer."""

Model = TypeVar("Model", bound=BaseModel)


def encode(report: Report) -> bytes:
    """A report as it is spooled and sent. No time stamp inside, so equal reports give equal bytes."""
    return gzip.compress(report.model_dump_json(exclude_none=True).encode(), compresslevel=6, mtime=0)


class Transport:
    """Raises ServiceUnavailable if the call may work later, and ServiceRefused if it never will.

    For one thread, except `end`.
    """

    def __init__(self, config: ServiceConfig, token: str, http: Http | None = None) -> None:
        self._database = f"/v1/databases/{config.database}"
        headers = {"Authorization": f"Bearer {token}", "User-Agent": f"lutra-agent/{__version__}"}
        self._http = http or BoundedHttp(config.url, headers, ca_file=config.ca_file)

    def send(self, body: bytes) -> Receipt:
        """Raises ServiceFailed if the report itself may be the cause of the service's failure."""
        headers = {**JSON, "Content-Encoding": "gzip"}
        return _parsed(Receipt, self._ask("POST", f"{self._database}/reports", FINAL, headers=headers, content=body))

    def directive(self, wait_s: float, agent: str, epoch: str) -> Directive | None:
        """Wait up to `wait_s` seconds for a directive to the agent that reports under this name and epoch."""
        wait_s = min(wait_s, LONGEST_POLL_S)
        prefer, bound = {"Prefer": f"wait={int(wait_s)}"}, Bound(ANSWER_S + wait_s)
        path = f"{self._database}/directive?agent={agent}&epoch={epoch}"
        answer = self._ask("GET", path, FINAL, bound, prefer)
        return None if answer.status == NO_CONTENT else _parsed(Directive, answer)

    def start_session(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.call("POST", f"{self._database}/sessions", body)

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """A call for a person who waits."""
        content, headers = (b"", {}) if body is None else (json.dumps(body).encode(), JSON)
        return _document(self._ask(method, path, ASKED, headers=headers, content=content))

    def get(self, path: str) -> dict[str, Any]:
        return _document(self._ask("GET", path, ASKED, PAGE))

    def end(self) -> None:
        """From another thread: the call in progress fails now, and so do all later ones."""
        self._http.end()

    def close(self) -> None:
        self._http.close()

    def _ask(
        self,
        method: str,
        path: str,
        final: frozenset[int],
        bound: Bound = MESSAGE,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
    ) -> Answer:
        """`final`: the statuses that refuse for good, where the service itself gives them."""
        try:
            answer = self._http.exchange(method, path, bound, headers, content)
        except HttpFailed as error:
            raise ServiceUnavailable(f"{method} {path}: {error}") from error
        if 200 <= answer.status < 300:
            return answer
        raise _failure(f"{method} {path}: {answer.status}", answer, final)


def _failure(what: str, answer: Answer, final: frozenset[int]) -> LutraError:
    problem = _problem(answer)
    words = f"{problem['code']} {problem.get('detail', '')}" if problem else answer.reason
    message, later = f"{what} {_line(words)}".strip(), _retry_after_s(answer)
    nowhere = problem and answer.status == NOT_FOUND and NOT_FOUND not in final
    if answer.status in OPERATORS or nowhere or problem.get("code") in CURABLE:
        return NotAdmitted(message, later)
    if problem and answer.status in final:
        return ServiceRefused(message)
    failed = problem and answer.status >= 500 and answer.status != AWAY
    return (ServiceFailed if failed else ServiceUnavailable)(message, later)


def _line(text: str) -> str:
    """Words from outside, fit for one line of a log."""
    return printable(text[:SHOWN], instead=" ").strip()


def _retry_after_s(answer: Answer) -> float:
    text = answer.headers.get("retry-after", "").strip()
    return min(float(text), MOST_RETRY_AFTER_S) if text.isascii() and text.isdigit() else 0.0


def _parsed(model: type[Model], answer: Answer) -> Model:
    try:
        return model.model_validate_json(answer.json_bytes())
    except ValidationError as error:
        where = ", ".join(".".join(map(str, e["loc"])) + ": " + e["msg"] for e in error.errors()[:3])
        raise ServiceUnavailable(f"the service's answer is no {model.__name__}: {_line(where)}") from error
    except ValueError as error:
        raise ServiceUnavailable(f"the service's answer is no {model.__name__}: {error}") from error


def _document(answer: Answer) -> dict[str, Any]:
    try:
        return answer.document()
    except ValueError as error:
        raise ServiceUnavailable(f"the service's answer cannot be read: {error}") from error


def _problem(answer: Answer) -> dict[str, Any]:
    """The service's own words; empty if somebody in between answers, as a proxy does while the service is away."""
    if answer.headers.get("content-type", "").partition(";")[0].strip().lower() != PROBLEM:
        return {}
    try:
        problem = answer.document()
    except ValueError:
        return {}
    return problem if problem.get("code") else {}
