"""Markdown tables, and what stands where there is no result yet."""

from __future__ import annotations

from collections.abc import Sequence


def missing(command: str) -> str:
    return f"Not measured yet: `python -m benchmarks tuning {command}`."


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Markdown; the first column to the left, the others to the right."""
    rule = ["---", *("--:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *body))
