"""What an answer may be: documented in status, content type and shape, and silent about other people's databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from benchmarks.attacks.fuzz_requests import Sent
from benchmarks.attacks.fuzz_world import World

OPEN = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/docs")
"""What nobody needs a token for."""
OF_ROWS = ("application/jsonl", "text/csv")
"""Without a row such an answer may be empty."""
Fault = tuple[str, str]


class Checks:
    def __init__(self, world: World, scope: str) -> None:
        self._world = world
        self._scope = scope
        self._validators: dict[int, Draft202012Validator] = {}
        self._foreign = {id_ for ids in world.foreign.ids.values() for id_ in ids}

    def faults(self, sent: Sent, answer: httpx.Response) -> Iterator[Fault]:
        """Kind and detail of everything that is wrong with an answer."""
        status = answer.status_code
        if status >= 500 and not (status == 503 and "retry-after" in answer.headers):
            yield "5xx", f"{status} {answer.text[:200]}"
            return
        yield from self._reach(sent, answer)
        if sent.method.lower() != sent.call.method:
            if status < 400 and sent.method not in ("HEAD", "OPTIONS") and not self._known(sent):
                yield "undocumented method", f"{status}"
            return
        documented = self._documented(sent, status)
        if documented is None:
            yield "undocumented status", f"{status} {answer.text[:200]}"
        else:
            yield from self._shape(documented, answer)

    def _known(self, sent: Sent) -> bool:
        return sent.method.lower() in self._world.document["paths"][sent.call.template]

    def _documented(self, sent: Sent, status: int) -> dict[str, Any] | None:
        responses = sent.call.operation["responses"]
        found = responses.get(str(status)) or responses.get(f"{status // 100}XX")
        found = found or (responses.get("default") if status >= 400 else None)
        return None if found is None else self._resolved(found)

    def _resolved(self, part: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in part:
            found: Any = self._world.document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            part = found
        return part

    def _shape(self, documented: dict[str, Any], answer: httpx.Response) -> Iterator[Fault]:
        kinds = documented.get("content", {})
        kind = answer.headers.get("content-type", "").partition(";")[0].strip()
        if not answer.content:
            if kinds and answer.status_code < 300 and kind not in OF_ROWS:
                yield "no content", f"{answer.status_code}, where {', '.join(kinds)} is documented"
            return
        if kind not in kinds:
            yield "undocumented content type", f"{answer.status_code} {kind or 'none'}: {answer.text[:100]}"
        elif kind.endswith("json"):
            yield from self._invalid(kinds[kind].get("schema", {}), answer)

    def _invalid(self, schema: dict[str, Any], answer: httpx.Response) -> Iterator[Fault]:
        validator = self._validators.get(id(schema))
        if validator is None:
            whole = {**schema, "components": self._world.document.get("components", {})}
            validator = self._validators.setdefault(id(schema), Draft202012Validator(whole))
        try:
            error = next(validator.iter_errors(answer.json()), None)
        except ValueError as no_json:
            yield "answer is no JSON", f"{answer.status_code} {no_json}"
            return
        if error is not None:
            where = "/".join(map(str, error.absolute_path))
            yield "answer breaks its schema", f"{answer.status_code} {where}: {error.message[:200]}"

    def _reach(self, sent: Sent, answer: httpx.Response) -> Iterator[Fault]:
        if self._scope == "none" and answer.is_success and not sent.call.template.startswith(OPEN):
            yield "let in without a token", f"{answer.status_code}"
        if sent.foreign and answer.is_success:
            yield "foreign database reached", f"{answer.status_code} {answer.text[:200]}"
        if self._world.mark in answer.text and sent.call.template not in OPEN:
            yield "foreign name in the answer", answer.text[:200]
        asked = sent.path + str(sent.content)
        if leaked := [id_ for id_ in self._foreign if id_ in answer.text and id_ not in asked]:
            yield "foreign id in the answer", ", ".join(leaked)
