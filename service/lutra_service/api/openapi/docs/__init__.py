"""/docs: the OpenAPI document as a page that needs no other host and no script."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from lutra_service.common.documents import Document

POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
STYLE = (Path(__file__).parent / "style.css").read_text()
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

VOID = ("meta", "link")


def install(app: FastAPI) -> None:
    rendered = cache(lambda: page(app.openapi()))

    @app.get("/docs", include_in_schema=False)
    def show_docs() -> HTMLResponse:
        return HTMLResponse(rendered(), headers={"Content-Security-Policy": POLICY})

    @app.get("/docs/style.css", include_in_schema=False)
    def show_style() -> Response:
        return Response(STYLE, media_type="text/css")


def page(document: Document) -> str:
    info = document["info"]
    title = f"{info['title']} {info['version']}"
    head = join(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width"),
        element("title", title),
        element("link", rel="stylesheet", href="/docs/style.css"),
    )
    main = join(
        element("h1", title),
        element("p", f"{info['summary']} ", element("a", "openapi.json", href="/openapi.json")),
        *(text(p) for p in info["description"].split("\n\n")),
        _contents(document),
        *(_tag(document, tag) for tag in document["tags"]),
        element("h2", "Schemas", id="schemas"),
        *(schema_section(name, schema) for name, schema in sorted(document["components"]["schemas"].items())),
    )
    return f"<!doctype html>\n{element('html', element('head', head), element('body', main), lang='en')}\n"


def _operations(document: Document, tag: str) -> Iterator[tuple[str, str, Document]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if operation["tags"] == [tag]:
                yield path, method.upper(), operation


def _contents(document: Document) -> Markup:
    def line(path: str, method: str, operation: Document) -> Markup:
        link = element("a", element("code", f"{method} {path}"), href=f"#{operation['operationId']}")
        return element("li", link, f" {operation['summary']}")

    parts = [
        join(
            element("h3", element("a", tag["name"], href=f"#tag-{tag['name']}")),
            element("ul", *(line(*found) for found in _operations(document, tag["name"]))),
        )
        for tag in document["tags"]
    ]
    return element("nav", *parts, element("h3", element("a", "schemas", href="#schemas")))


def _tag(document: Document, tag: Document) -> Markup:
    return element(
        "section",
        element("h2", tag["name"], id=f"tag-{tag['name']}"),
        element("p", tag["description"]),
        *(_operation(document, *found) for found in _operations(document, tag["name"])),
    )


def _operation(document: Document, path: str, method: str, operation: Document) -> Markup:
    return element(
        "article",
        element("h3", element("code", f"{method} {path}"), f" {operation['summary']}", id=operation["operationId"]),
        text(operation["description"]),
        _parameters(operation.get("parameters", [])),
        _body(operation.get("requestBody")),
        _responses(document, operation["responses"]),
    )


def _parameters(parameters: list[Document]) -> Markup:
    rows = [
        element(
            "tr",
            element("td", element("code", p["name"])),
            element("td", f"{p['in']}{', required' if p.get('required') else ''}"),
            element("td", shape(p["schema"])),
            element("td", p["description"]),
        )
        for p in parameters
    ]
    return element("table", element("caption", "Parameters"), *rows) if rows else Markup()


def _body(body: Document | None) -> Markup:
    if body is None:
        return Markup()
    kinds = [join(element("code", media), " ", shape(told["schema"])) for media, told in body["content"].items()]
    return element("p", "Body: ", *kinds, "" if body.get("required") else " (may be left out)")


def _responses(document: Document, responses: Document) -> Markup:
    rows = []
    for status, told in responses.items():
        if "$ref" in told:
            told = document["components"]["responses"][told["$ref"].rsplit("/", 1)[1]]
        kinds = [
            element("div", element("code", media), " ", shape(content.get("schema", {})))
            for media, content in told.get("content", {}).items()
        ]
        rows.append(
            element("tr", element("td", status), element("td", *kinds), element("td", told.get("description", "")))
        )
    return element("table", element("caption", "Answers"), *rows)


class Markup(str):
    """HTML that is safe to put into a page as it is."""

    __slots__ = ()


def element(tag: str, /, *content: str, **attributes: str) -> Markup:
    """An element; content that is not markup yet is escaped."""
    told = "".join(f' {k}="{html.escape(v)}"' for k, v in attributes.items())
    inner = "" if tag in VOID else f"{join(*content)}</{tag}>"
    return Markup(f"<{tag}{told}>{inner}")


def join(*content: str, between: str = "") -> Markup:
    return Markup(html.escape(between).join(c if isinstance(c, Markup) else html.escape(c) for c in content))


def text(description: str) -> Markup:
    """Paragraphs; text in backquotes is code."""
    return join(*(element("p", *_pieces(p)) for p in description.split("\n\n")))


def _pieces(paragraph: str) -> list[str]:
    return [element("code", p) if i % 2 else p for i, p in enumerate(re.split(r"`([^`]*)`", paragraph))]


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
