"""Values by a JSON schema, right ones mostly and odd ones now and then, and odd changes of a right document."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

Schema = dict[str, Any]

ODD_SHARE = 0.08
DEEPEST = 6
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    -(2**63) - 1,
    10**400,
    0.1,
    -0.0,
    1e308,
    5e-324,
    float("nan"),
    float("inf"),
    0.9999999999999999,
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "²",
    "٣",
    "\u202e",
    "=HYPERLINK(1)",
    "'; DROP TABLE reports; --",
    "../../etc/passwd",
    "1e999",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "2026-02-30T00:00:00Z",
    "1000000000000000000000kB",
    "0kB",
    "a" * 5000,
    [],
    {},
    [[[[[[]]]]]],
    {"": ""},
)
LIKELY = (
    "work_mem",
    "qps",
    "p99_ms",
    "shared_buffers",
    "agent1",
    "rec_1",
    "02:30",
    "Europe/Berlin",
    "on",
    "4MB",
    "kB",
    "x",
)
MOMENTS = ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00+02:00", "1999-12-31T23:59:60Z", "2026-03-01")


class Values:
    """Makes values for the schemas of one OpenAPI document."""

    def __init__(self, document: Schema, rng: random.Random, odd_share: float = ODD_SHARE) -> None:
        self._document = document
        self._rng = rng
        self._odd_share = odd_share

    def of(self, schema: Schema, depth: int = 0) -> Any:
        if self._rng.random() < self._odd_share:
            return copy.deepcopy(self._rng.choice(ODD))
        schema = self._resolved(schema)
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return self.of(self._rng.choice(schema[several]), depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._rng.choice(schema["enum"])
        return self._typed(schema, depth)

    def changed(self, document: Any) -> Any:
        """A copy with one to three of its values odd, gone, or moved."""
        found = copy.deepcopy(document)
        for _ in range(self._rng.randint(1, 3)):
            self._change(found)
        return found

    def odd(self) -> Any:
        return copy.deepcopy(self._rng.choice(ODD))

    def _change(self, document: Any) -> None:
        places = list(_places(document))
        if not places:
            return
        holder, key = self._rng.choice(places)
        chance = self._rng.random()
        if chance < 0.7:
            holder[key] = self.odd()
        elif isinstance(holder, dict) and chance < 0.85:
            del holder[key]
        elif isinstance(holder, dict):
            holder[f"{key}_x"] = self.odd()
        else:
            holder[:] = holder * 3

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            found: Any = self._document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    def _typed(self, schema: Schema, depth: int) -> Any:
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = self._rng.choice(kind)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            most = 0 if depth > DEEPEST else self._rng.randint(schema.get("minItems", 0), 3)
            return [self.of(schema.get("items", {}), depth + 1) for _ in range(most)]
        if kind in ("integer", "number"):
            return self._number(schema, kind == "integer")
        return {"boolean": self._rng.random() < 0.5, "null": None}.get(kind, self._text(schema))

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        required, properties = schema.get("required", ()), schema.get("properties", {})
        chosen = [n for n in properties if n in required or (depth <= DEEPEST and self._rng.random() < 0.5)]
        made = {name: self.of(properties[name], depth + 1) for name in chosen}
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and depth <= DEEPEST:
            names = schema.get("propertyNames", {"type": "string"})
            for _ in range(self._rng.randint(0, 3)):
                name = self.of(names, depth + 1)
                made[name if isinstance(name, str) else "name"] = self.of(more, depth + 1)
        return made

    def _number(self, schema: Schema, whole: bool) -> float:
        low = _limit(schema, ("minimum", "exclusiveMinimum"), -10)
        high = _limit(schema, ("maximum", "exclusiveMaximum"), 1000)
        drawn = self._rng.choice((low, high, self._rng.uniform(low, high)))
        return int(drawn) if whole else float(drawn)

    def _text(self, schema: Schema) -> str:
        if schema.get("format") == "date-time":
            return self._rng.choice(MOMENTS)
        likely = [t for t in (*LIKELY, "db_x", "A") if re.search(schema.get("pattern", ""), t)]
        if likely and self._rng.random() < 0.8:
            return self._rng.choice(likely)
        longest = min(schema.get("maxLength", 20), 60)
        return "".join(self._rng.choices("abcXYZ019_-. é", k=self._rng.randint(0, longest)))


def _limit(schema: Schema, names: tuple[str, ...], otherwise: float) -> float:
    found: float = next((schema[name] for name in names if name in schema), otherwise)
    return found


def _places(document: Any) -> Any:
    """Every value within a document, as its holder and its key there."""
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in list(items):
        yield document, key
        yield from _places(value)
