"""/docs: the OpenAPI document as a page that needs no other host and no script."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from lutra_service.api.openapi.docs.page import page

POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
STYLE = (Path(__file__).parent / "style.css").read_text()


def install(app: FastAPI) -> None:
    rendered = cache(lambda: page(app.openapi()))

    @app.get("/docs", include_in_schema=False)
    def show_docs() -> HTMLResponse:
        return HTMLResponse(rendered(), headers={"Content-Security-Policy": POLICY})

    @app.get("/docs/style.css", include_in_schema=False)
    def show_style() -> Response:
        return Response(STYLE, media_type="text/css")
