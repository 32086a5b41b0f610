"""HTML, escaped when it is created: only `element` turns a text into markup."""

from __future__ import annotations

import html
import re

VOID = ("meta", "link")


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
