"""Cells of tables that people open.

A spreadsheet takes a text that begins like a formula for one, and some of these texts come from agents: such a text
gets an apostrophe in front, which spreadsheets do not show. Numbers are unchanged.
"""

from __future__ import annotations

from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(FORMULA) else cell
