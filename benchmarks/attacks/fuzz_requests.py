"""Requests by an OpenAPI document: every call, its parameters, headers and body, right ones and odd ones."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from benchmarks.attacks.fuzz_values import Values
from benchmarks.attacks.fuzz_world import World

METHODS = ("get", "post", "put", "patch", "delete")
ODD_IDS = ("%00", "a%00b", "%ff", "..%2f..%2fetc", "%C2%B2", "a" * 2000, "db_" + "0" * 26, "%27%22", "%20", "null", "0")
ODD_TEXTS = ("", "%00", "%C2%B2", "-1", "0", "1e9", "9" * 30, "9223372036854775808", "a" * 2000, "null", "%27--", "%FF")
SHORT_WAITS = ("wait=0", "wait=1", "wait=0, respond-async", "wait=-1", "wait=", "wait=a", "wait=\xb2", "wait=1.5", "x")
LONG_WAITS = ("wait=9999999999999999999999", "wait=1e9", "wait=60")
KEYS = ("one key", "", "k" * 300, "\xe9", "a\tb")
RAW = (b"", b"{", b"nul", b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b"[" * 5000, b'{"a":1,"a":2}', b"NaN", b'"\\ud800"')


@dataclass(frozen=True)
class Call:
    """One operation of the document."""

    method: str
    template: str
    operation: dict[str, Any]


@dataclass(frozen=True)
class Sent:
    """One request: `foreign` says that its path names something of the other database."""

    call: Call
    method: str
    path: str
    headers: dict[str, str]
    content: bytes | None
    foreign: bool

    def __str__(self) -> str:
        body = "" if self.content is None else f" {self.content[:300]!r}"
        headers = {k: v for k, v in self.headers.items() if k != "Authorization"}
        return f"{self.method} {self.path[:300]} {headers}{body}"


@dataclass
class Requests:
    """Generates requests of one scope against one world."""

    world: World
    scope: str
    rng: random.Random
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = Values(self.world.document, self.rng)
        for template, methods in self.world.document["paths"].items():
            self.calls += [Call(m, template, methods[m]) for m in METHODS if m in methods]

    def next(self) -> Sent:
        call = self.rng.choice(self.calls)
        path, foreign = self._path(call)
        headers, content = self._headers(call), None
        if "requestBody" in call.operation and self.rng.random() < 0.95:
            content = self._content(call, headers)
        method = call.method if self.rng.random() < 0.98 else self.rng.choice((*METHODS, "head", "options", "trace"))
        return Sent(call, method.upper(), path + self._query(call), headers, content, foreign)

    def _path(self, call: Call) -> tuple[str, bool]:
        path, foreign = call.template, False
        for parameter in self._parameters(call, "path"):
            id_, theirs = self._id(parameter["name"])
            path, foreign = path.replace(f"{{{parameter['name']}}}", id_), foreign or theirs
        return path, foreign

    def _id(self, name: str) -> tuple[str, bool]:
        chance = self.rng.random()
        if chance < 0.15 and (theirs := self.world.foreign.ids.get(name)):
            return self.rng.choice(theirs), True
        if chance < 0.85 and (own := self.world.own.ids.get(name)):
            return self.rng.choice(own[-10:]), False
        return self.rng.choice(ODD_IDS), False

    def _query(self, call: Call) -> str:
        pairs = []
        for parameter in self._parameters(call, "query"):
            if self.rng.random() < 0.5:
                value = self.values.of(parameter.get("schema", {}))
                several = value if isinstance(value, list) else [value]
                pairs += [f"{parameter['name']}={self._word(one)}" for one in several[:3]]
        if self.rng.random() < 0.03:
            pairs.append(f"unknown={self.rng.choice(ODD_TEXTS)}")
        return "?" + "&".join(pairs) if pairs else ""

    def _word(self, value: Any) -> str:
        if self.rng.random() < 0.3:
            return self.rng.choice(ODD_TEXTS)
        text = value if isinstance(value, str) else json.dumps(value)
        return quote(text[:2000].encode("utf-8", "surrogatepass"), safe="")

    def _headers(self, call: Call) -> dict[str, str]:
        headers = {}
        if self.scope != "none":
            headers["Authorization"] = f"Bearer {self.world.tokens[self.scope]}"
        elif self.rng.random() < 0.5:
            headers["Authorization"] = self.rng.choice(
                ("Bearer lutra_x", "Basic YTpi", "Bearer", "Bearer \xe9", "lutra_x")
            )
        for parameter in self._parameters(call, "header"):
            if self.rng.random() < 0.4:
                headers[parameter["name"]] = self._header(parameter["name"])
        return headers

    def _header(self, name: str) -> str:
        if name.lower() == "prefer":
            return self.rng.choice(LONG_WAITS if self.rng.random() < 0.003 else SHORT_WAITS)
        return self.rng.choice((*KEYS, f"key-{self.rng.randrange(10**9)}"))

    def _content(self, call: Call, headers: dict[str, str]) -> bytes:
        content = self._body(call)
        headers["Content-Type"] = "application/json"
        chance = self.rng.random()
        if chance < 0.1:
            headers["Content-Encoding"] = self.rng.choice(("gzip", "gzip", "gzip", "br", "identity"))
            packed = gzip.compress(content)
            return packed if chance < 0.06 else packed[: len(packed) // 2] + b"\x00"
        if chance < 0.13:
            headers["Content-Type"] = self.rng.choice(
                ("text/plain", "application/xml", "", "application/json; charset=x")
            )
        return content

    def _body(self, call: Call) -> bytes:
        chance = self.rng.random()
        right = self.world.bodies.get((call.method, call.template))
        if chance < 0.05:
            return self.rng.choice(RAW)
        if right is not None and chance < 0.25:
            return json.dumps(right).encode()
        if right is not None and chance < 0.75:
            return json.dumps(self.values.changed(right)).encode()
        (kind,) = list(call.operation["requestBody"]["content"].values())[:1]
        return json.dumps(self.values.of(kind.get("schema", {}))).encode()

    def _parameters(self, call: Call, where: str) -> list[dict[str, Any]]:
        every = [
            *self.world.document["paths"][call.template].get("parameters", ()),
            *call.operation.get("parameters", ()),
        ]
        return [p for p in map(self._parameter, every) if p["in"] == where]

    def _parameter(self, parameter: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in parameter:
            return parameter
        found: Any = self.world.document
        for part in parameter["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return dict(found)
