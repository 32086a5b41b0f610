"""Errors as RFC 9457 problems. The only table that maps codes to statuses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from lutra_models.catalog import did_you_mean
from lutra_models.errors import LutraError
from lutra_models.wire import PROTOCOL
from starlette.exceptions import HTTPException

from lutra_service.common.actor import current_actor

STATUS = {
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "too_slow": 408,
    "conflict": 409,
    "illegal_transition": 409,
    "session_closed": 409,
    "space_exhausted": 409,
    "not_enough_observations": 409,
    "missing_extension": 409,
    "database_retired": 409,
    "name_taken": 409,
    "too_large": 413,
    "unsupported_encoding": 415,
    "invalid_json": 400,
    "invalid_configuration": 422,
    "memory_budget_exceeded": 422,
    "invalid_report": 422,
    "invalid_options": 422,
    "invalid_request": 422,
    "unknown_field": 422,
    "idempotency_key_reused": 422,
    "quota_exceeded": 429,
    "too_many_requests": 429,
    "fit_failed": 500,
    "broken_extension": 500,
    "internal_error": 500,
    "invalid_answer": 500,
    "busy": 503,
    "outcome_unknown": 503,
    "store_unavailable": 503,
}
_TITLES = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported media type",
    400: "Bad request",
    422: "Unprocessable",
    429: "Too many requests",
    500: "Internal error",
    503: "Service unavailable",
}
VALUE_BRANCHES = ("int", "float", "constrained-str")
"""The name of a setting's value, a number or a text, in an error of each of its branches."""

SHOWN = 20
"""Only the first errors of a body are reported."""


def problem(code: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> JSONResponse:
    status = STATUS.get(code, 400)
    request_id = current_actor.get().request_id
    body = {
        "type": f"urn:lutra:problem:{code}",
        "title": _TITLES.get(status, "Bad request"),
        "status": status,
        "code": code,
        "detail": detail,
        **({"request_id": request_id} if request_id else {}),
        **more,
    }
    always = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    always |= {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse(body, status, {**always, **(headers or {})}, media_type="application/problem+json")


def refused(error: LutraError) -> JSONResponse:
    retry_after_s = getattr(error, "retry_after_s", None)
    return problem(error.code, str(error), None if retry_after_s is None else {"Retry-After": str(retry_after_s)})


def install(app: FastAPI) -> None:
    app.add_exception_handler(LutraError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def invalid(errors: Sequence[Mapping[str, Any]]) -> JSONResponse:
    """A body or query that does not parse. An unknown field names the protocol: the other side may be newer."""
    told = [{"at": at, "message": message} for at, message in _messages(errors).items()][:SHOWN]
    unknown = [_unknown(e) for e in errors if e["type"] == "extra_forbidden"]
    if unknown:
        detail = f"this service speaks protocol {PROTOCOL} and does not know the field {'; '.join(unknown[:SHOWN])}"
        return problem("unknown_field", detail, errors=told, protocol=PROTOCOL)
    detail = "; ".join(f"{t['at']}: {t['message']}" if t["at"] else t["message"] for t in told)
    return problem("invalid_request", detail, errors=told)


def _unknown(error: Mapping[str, Any]) -> str:
    """The field, a near one, and all that are known there."""
    place, known = _place(error), error.get("known", ())
    beside = f", beside {', '.join(known)}" if known else ""
    return f"{'.'.join(place)[:200]}{did_you_mean(place[-1][:64], known)}{beside}"


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, LutraError)
    return refused(error)


def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return invalid(error.errors())


def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    codes = {404: "not_found", 405: "method_not_allowed"}
    return problem(codes.get(error.status_code, "invalid_request"), str(error.detail), error.headers)


def _messages(errors: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Place → what is wrong there, and what was given. The branches of a union are one place."""
    told: dict[str, str] = {}
    for error in errors:
        place = _place(error)
        if place and place[-1] in VALUE_BRANCHES:
            at, wanted = ".".join(place[:-1]), "expected a number or a text"
        elif not place and error["type"] in ("model_attributes_type", "model_type"):
            at, wanted = "", "the body has to be a JSON object"
        else:
            at, wanted = ".".join(place), str(error["msg"])
        told.setdefault(at[:200], wanted + _given(error))
    return told


def _given(error: Mapping[str, Any]) -> str:
    given = error.get("input")
    if error["type"] in ("extra_forbidden", "missing") or not isinstance(given, str | int | float | None):
        return ""
    return f", got {json.dumps(given)[:100]}"


def _place(error: Mapping[str, Any]) -> list[str]:
    return [str(p) for p in error["loc"] if p not in ("body", "query", "path", "header")]
