"""The OpenAPI document: the descriptions of the routes, and the parts that apply to all of them."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from lutra_models.wire import PROTOCOL
from pydantic import BaseModel, ConfigDict, Field

from lutra_service.api.http.deps import Page
from lutra_service.api.http.problems import STATUS
from lutra_service.api.openapi.examples import EXAMPLES
from lutra_service.common.documents import Document

_DOCUMENTED = ConfigDict(use_attribute_docstrings=True)


class ProblemError(BaseModel):
    """One error in a request."""

    model_config = _DOCUMENTED

    at: str
    """The path to the field or the name of the parameter; empty for the whole body."""
    message: str
    """The expected and the given value."""


class Problem(BaseModel):
    """Why a request was refused. A refused request changed nothing."""

    model_config = _DOCUMENTED

    type: str
    """A URN that ends in the code."""
    title: str
    """The status in words."""
    status: int
    """The HTTP status."""
    code: str = Field(json_schema_extra={"enum": [*sorted(STATUS)]})
    """The kind of problem, from a closed set, for programs."""
    detail: str
    """The explanation for people, with the values and usually a remedy."""
    errors: list[ProblemError] | None = None
    """With `invalid_request` and `unknown_field`: the first twenty errors."""
    protocol: int | None = Field(default=None, examples=[PROTOCOL])
    """With `unknown_field`: the service's protocol."""


REF = "#/components/{}/{}"
SUMMARY = "Recommends database settings and predicts their effect."
TAGS = {
    "databases": "Registered databases: their policy, settings and measured windows.",
    "sessions": "Tuning sessions: their objective, and every trial.",
    "recommendations": "The next settings to try: ask, read, approve, reject, roll back.",
    "observations": "All observations, as data sets: JSON lines, CSV, Parquet.",
    "summary": "The events and the load of the last days, of the fleet or of one database.",
    "predictions": "What-if: the p99 and QPS of given settings.",
    "models": "Model versions: register, score, run in the shadow, promote, roll back.",
    "workloads": "The workloads of the fleet: signatures, lessons, similarity.",
    "protection": "Guardrails, their events, and maintenance windows.",
    "tokens": "Tokens and their scopes.",
    "audit": "The audit trail.",
    "receivers": "Receivers of notifications, and the log of deliveries.",
    "knobs": "The catalogue of settings.",
    "agents": "Reports from agents, and directives to them.",
    "health": "For the operators of the service; no token is needed.",
}
PATH_PARAMETERS = {
    "symptom": "A symptom's name.",
    "database": "A database's id, `db_…`.",
    "session": "A tuning session's id, `ts_…`.",
    "recommendation": "A recommendation's id, `rec_…`.",
    "model": "A model version's id, `mv_…`.",
    "workload": "A workload's id, `wl_…`.",
    "token": "A token's id, `tok_…`, not its secret.",
    "receiver": "A receiver's id, `rcv_…`.",
}
_WAIT = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}}
_SCHEME = {"WWW-Authenticate": {"description": "`Bearer`", "schema": {"type": "string"}}}
_APPLIED = {"Preference-Applied": {"description": "`wait=N`, if it was requested.", "schema": {"type": "string"}}}
PROBLEMS: dict[str, tuple[str, str, Document]] = {
    "400": ("BadRequest", "The body is not JSON.", {}),
    "401": ("Unauthorized", "There is no valid token.", _SCHEME),
    "403": ("Forbidden", "The token has a different scope, or is bound to a different database.", {}),
    "404": ("NotFound", "There is nothing with this id.", {}),
    "409": ("Conflict", "The request is valid, but conflicts with what is stored.", {}),
    "413": ("TooLarge", "The body is too large.", {}),
    "415": ("UnsupportedEncoding", "The body's content encoding is not supported.", {}),
    "422": ("Unprocessable", "A field, a parameter or a value is invalid.", {}),
    "429": ("TooMany", "Too many requests; try again later.", _WAIT),
    "503": ("Unavailable", "The service has no capacity for this now; try again later.", _WAIT),
    "default": ("Other", "Any other problem, such as 405 with `Allow`.", {}),
}
"""By status: the name of the response, its meaning, and its headers."""

ALWAYS = ("401", "403", "422", "429", "503", "default")
WITH_BODY = ("400", "413", "415")
COUNTED = ("/readyz", "/metrics")
"""They need no token, and count as requests of an address without one."""


def install(app: FastAPI) -> None:
    """Make the application use this description when it is first requested."""
    app.openapi = cache(lambda: describe(app))  # type: ignore[method-assign]


def describe(app: FastAPI) -> Document:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=SUMMARY,
        description=app.description,
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        servers=[{"url": "/", "description": "This service"}],
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        separate_input_output_schemas=False,
    )
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    components = document["components"]
    # The words of an enum stand where they are used; FastAPI lists it once more by itself.
    components["schemas"] = {name: told for name, told in components["schemas"].items() if "enum" not in told}
    components["responses"] = {name: _response(text, headers) for name, text, headers in PROBLEMS.values()}
    for model in (ProblemError, Problem):
        components["schemas"][model.__name__] = _schema(model)
    _explain(components["schemas"])
    return document


def _complete(path: str, method: str, operation: Document) -> None:
    """Parameters explained, and the problems that any operation of this kind may answer with."""
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            parameter["description"] = PATH_PARAMETERS[parameter["name"]]
        if parameter["name"] == "prefer":
            for response in operation["responses"].values():
                response.setdefault("headers", {}).update(_APPLIED)
    for media in operation.get("requestBody", {}).get("content", {}).values():
        media["schema"].pop("default", None)  # a body that may be left out says so by not being required
    for response in operation["responses"].values():
        for media in response.get("content", {}).values():
            if "$ref" in media.get("schema", {}):  # of an answer that streams FastAPI says beside it that it is a text
                media["schema"].pop("type", None)
    for status in _problems(path, method, operation):
        operation["responses"][status] = {"$ref": REF.format("responses", PROBLEMS[status][0])}
    operation["responses"] = dict(sorted(operation["responses"].items()))


def _problems(path: str, method: str, operation: Document) -> list[str]:
    """The statuses of the problems that an operation may answer with."""
    if not path.startswith("/v1/"):
        return ["default", *(["429"] if path in COUNTED else [])]
    statuses = [*ALWAYS, *(WITH_BODY if "requestBody" in operation else ())]
    statuses += ["404"] if "{" in path else []
    statuses += ["409"] if method != "get" or "409" in operation["responses"] else []
    return statuses


def _response(text: str, headers: Document) -> Document:
    content = {"application/problem+json": {"schema": {"$ref": REF.format("schemas", "Problem")}}}
    return {"description": text, "content": content, **({"headers": headers} if headers else {})}


def _schema(model: type[Problem] | type[ProblemError]) -> Document:
    schema = model.model_json_schema(ref_template=REF.format("schemas", "{model}"))
    schema.pop("$defs", None)
    return schema


def _explain(schemas: Document) -> None:
    """Examples of every schema, and the descriptions of those that agents and service share."""
    for name, properties in _shared().items():
        schemas[name]["description"] = properties.get("", schemas[name].get("description", ""))
        for field, text in properties.items():
            if field:
                schemas[name]["properties"][field]["description"] = text
    for name, example in EXAMPLES.items():
        schemas[name]["examples"] = [example]
    for schema in schemas.values():
        schema.setdefault("description", Page.__doc__)  # a generic model leaves its own out


def _shared() -> dict[str, dict[str, str]]:
    return tomllib.loads((Path(__file__).parent / "wire_schemas.toml").read_text())
