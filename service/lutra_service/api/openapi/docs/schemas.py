"""Schemas as tables, and any schema in a few words with links to the named ones."""

from __future__ import annotations

import json
from typing import Any

from lutra_service.api.openapi.docs.html import Markup, element, join, text
from lutra_service.common.documents import Document

BOUNDS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} entries",
    "pattern": "{}",
    "format": "{}",
}


def schema_section(name: str, schema: Document) -> Markup:
    required = schema.get("required", ())
    rows = [
        element(
            "tr",
            element("td", element("code", field)),
            element("td", "required" if field in required else ""),
            element("td", shape(told)),
            element("td", text(told.get("description", ""))),
        )
        for field, told in schema.get("properties", {}).items()
    ]
    return element(
        "article",
        element("h3", name, id=f"schema-{name}"),
        text(schema["description"]),
        element("table", *rows) if rows else shape(schema),
        *(_example(example) for example in schema.get("examples", ())),
    )


def shape(schema: Document) -> Markup:
    """The schema of a value, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return element("a", name, href=f"#schema-{name}")
    for many in ("anyOf", "oneOf", "allOf"):
        if many in schema:
            return join(*(shape(one) for one in schema[many]), between=" or ")
    if "enum" in schema or "const" in schema:
        words = schema.get("enum", [schema.get("const")])
        return join(*(element("code", json.dumps(word)) for word in words), between=" ")
    bounds = [form.format(schema[key]) for key, form in BOUNDS.items() if key in schema]
    return join(_kind(schema), *bounds, between=", ")


def _kind(schema: Document) -> Markup:
    if "prefixItems" in schema:
        return join("[", join(*(shape(item) for item in schema["prefixItems"]), between=", "), "]")
    if schema.get("type") == "array":
        return join("list of ", shape(schema.get("items", {})))
    if isinstance(schema.get("additionalProperties"), dict):
        return join("name → ", shape(schema["additionalProperties"]))
    return join(schema.get("type", "anything"))


def _example(example: Any) -> Markup:
    shown = json.dumps(example, indent=1, ensure_ascii=False)
    return element("details", element("summary", "Example"), element("pre", shown))
