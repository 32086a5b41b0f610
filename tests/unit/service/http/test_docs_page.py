"""/docs is whole without another host."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from fastapi.testclient import TestClient
from lutra_service.api.openapi.docs import element, page, text

from tests.support.service.application import first_application

pytestmark = pytest.mark.slow

LOADING = ("src", "srcset", "data", "action", "poster", "background", "formaction", "style", "onclick", "onload")
ATTACK = '<script src="http://evil.example/x.js"></script>'


class Page(HTMLParser):
    """Every element with its attributes, and the words between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    @property
    def ids(self) -> list[str | None]:
        return [a["id"] for _, a in self.elements if "id" in a]


@pytest.fixture
def client() -> TestClient:
    return TestClient(first_application())


def test_the_page_loads_its_own_style_sheet_and_nothing_else(client: TestClient) -> None:
    found = Page(client.get("/docs").text)
    links = [a["href"] for tag, a in found.elements if tag == "link"]
    assert links == ["/docs/style.css"]
    assert not [a for _, a in found.elements if set(a) & set(LOADING)]
    assert not {tag for tag, _ in found.elements} & {"script", "style", "img", "iframe", "object", "embed", "base"}
    for _, attributes in found.elements:
        href = attributes.get("href") or "#"
        assert href.startswith(("#", "/")), href
        assert not href.startswith("//"), href
    style = client.get("/docs/style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert "url(" not in style.text
    assert "@import" not in style.text


def test_a_browser_is_told_to_load_nothing_from_elsewhere(client: TestClient) -> None:
    policy = client.get("/docs").headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert client.get("/docs/style.css").headers["x-content-type-options"] == "nosniff"


def test_the_page_shows_every_operation_parameter_schema_and_property(client: TestClient) -> None:
    found = Page(client.get("/docs").text)
    document = client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["operationId"] in found.ids
            assert f"{method.upper()} {path}" in found.words
            assert all(p["name"] in found.words for p in operation.get("parameters", ()))
    for name, schema in document["components"]["schemas"].items():
        assert f"schema-{name}" in found.ids
        assert all(field in found.words for field in schema.get("properties", {}))
    assert '"name": "shop"' in found.words


def test_every_link_within_the_page_leads_somewhere(client: TestClient) -> None:
    found = Page(client.get("/docs").text)
    assert len(set(found.ids)) == len(found.ids)
    for _, attributes in found.elements:
        href = attributes.get("href") or ""
        assert not href.startswith("#") or href[1:] in found.ids, href


def test_what_a_description_says_stays_text(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    document["info"]["summary"] = document["tags"][0]["description"] = ATTACK
    schema = document["components"]["schemas"]["Problem"]
    schema["description"] = schema["properties"]["detail"]["description"] = f"`{ATTACK}` {ATTACK}"
    schema["examples"] = [{"detail": ATTACK}]
    schema["properties"]["detail"]["pattern"] = ATTACK
    assert "script" not in {tag for tag, _ in Page(page(document)).elements}


def test_markup_is_escaped_once() -> None:
    assert element("p", "a < b", element("b", "&"), title='"') == '<p title="&quot;">a &lt; b<b>&amp;</b></p>'
    assert text("say `x<y`\n\nthen stop") == "<p>say <code>x&lt;y</code></p><p>then stop</p>"


def test_the_root_is_no_page_and_leads_nowhere(client: TestClient) -> None:
    response = client.get("/", follow_redirects=False)
    assert (response.status_code, response.headers["content-type"]) == (404, "application/problem+json")
