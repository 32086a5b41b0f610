"""Every answer held against the OpenAPI document: its status, its type, its headers and each field."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from starlette.routing import compile_path

Document = dict[str, Any]
OURS = "urn:openapi"
LINES = "application/jsonl"
"""There may be none."""


class Documented:
    """Raises AssertionError for an answer that the document does not tell of."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._validators: dict[str, Draft202012Validator] = {}

    @cached_property
    def _paths(self) -> list[tuple[Any, Document]]:
        return [(compile_path(path)[0], operations) for path, operations in self.document["paths"].items()]

    @cached_property
    def _registry(self) -> Registry[Any]:
        registry: Registry[Any] = Registry().with_resource(OURS, DRAFT202012.create_resource(self.document))
        return registry

    def check(self, response: httpx.Response) -> None:
        request = response.request
        operation = self._operation(request.method, request.url.path)
        if operation is None:
            return
        place = f"{operation['operationId']} {response.status_code}"
        told = self._response(operation, response.status_code)
        assert told is not None, f"{place} is not documented"
        response.read()
        content = told.get("content", {})
        if not response.content:
            assert not content or LINES in content, f"{place} has no body, and one is documented"
            return
        media = response.headers["content-type"].split(";")[0]
        assert media in content, f"{place}: {media} is not documented, only {', '.join(content)}"
        if media.endswith("json"):
            self._fits(content[media]["schema"], response.json(), place)

    def fits(self, name: str, value: Any) -> None:
        """Whether `value` is one of the schema that is called so."""
        self._fits({"$ref": f"#/components/schemas/{name}"}, value, name)

    def _validator(self, schema: str) -> Draft202012Validator:
        if schema not in self._validators:
            absolute = json.loads(schema.replace('"#/', f'"{OURS}#/'))
            self._validators[schema] = Draft202012Validator(absolute, registry=self._registry)
        return self._validators[schema]

    def _operation(self, method: str, path: str) -> Document | None:
        for pattern, operations in self._paths:
            if pattern.match(path):
                found: Document | None = operations.get(method.lower())
                return found
        return None

    def _response(self, operation: Document, status: int) -> Document | None:
        refused = status >= 400
        found = operation["responses"].get(str(status)) or (operation["responses"].get("default") if refused else None)
        if found and "$ref" in found:
            found = self.document["components"]["responses"][found["$ref"].rsplit("/", 1)[1]]
        return found

    def _fits(self, schema: Document, value: Any, place: str) -> None:
        errors = list(self._validator(json.dumps(schema)).iter_errors(value))
        assert not errors, f"{place}: {[(list(e.absolute_path), e.message[:300]) for e in errors[:3]]}"
