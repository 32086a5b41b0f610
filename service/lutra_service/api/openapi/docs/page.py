"""The page: contents, then every operation by tag, then every schema."""

from __future__ import annotations

from collections.abc import Iterator

from lutra_service.api.openapi.docs.html import Markup, element, join, text
from lutra_service.api.openapi.docs.schemas import schema_section, shape
from lutra_service.common.documents import Document


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
