"""The steps of a change, rendered once: the operator sees exactly what the agent executes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from lutra_models import extensions
from lutra_models.catalog.statements.linux import LINUX
from lutra_models.catalog.statements.mariadb import MARIADB
from lutra_models.catalog.statements.mysql import MYSQL
from lutra_models.catalog.statements.postgresql import POSTGRESQL
from lutra_models.catalog.statements.redis import PIKA, REDIS, VALKEY
from lutra_models.catalog.statements.steps import FileLine, Renderer, Statement, Step
from lutra_models.errors import NotFound

RENDERERS: tuple[Renderer, ...] = (LINUX, MARIADB, MYSQL, PIKA, POSTGRESQL, REDIS, VALKEY)

__all__ = [
    "RENDERERS",
    "FileLine",
    "Renderer",
    "Statement",
    "Step",
    "as_text",
    "renderer",
    "to_paste",
]


def renderer(catalogue: str) -> Renderer:
    """Raises NotFound for a catalogue without a renderer."""
    renderers = extensions.extended(RENDERERS, extensions.RENDERERS, lambda r: r.catalogue)
    found = next((r for r in renderers if r.catalogue == catalogue), None)
    if found is None:
        known = ", ".join(r.catalogue for r in renderers)
        raise NotFound(f"nothing renders changes of {catalogue!r}; known: {known}")
    return found


def as_text(steps: Sequence[Step]) -> str:
    """The steps of one change: its statements in one line, joined by "; ", and the lines of files below it."""
    statements = "; ".join(s.text for s in steps if not s.file)
    return "\n".join([statements, *_file_lines(steps)] if statements else _file_lines(steps))


def to_paste(steps: Iterable[Step]) -> Iterator[str]:
    """The steps of any number of changes, line by line: each statement with its semicolon, then each file's lines.

    A statement that several changes end with, such as a reload, comes once, after all of them.
    """
    kept = list(steps)
    texts = dict.fromkeys(s.text for s in reversed(kept) if not s.file)
    yield from (f"{text};" for text in reversed(texts))
    yield from _file_lines(kept)


def _file_lines(steps: Iterable[Step]) -> Iterator[str]:
    """In their order within each file and section, which stands above them."""
    lines = sorted((s for s in steps if s.file), key=_place)
    for (file, section), found in groupby(lines, _place):
        yield f"# {file}"
        if section:
            yield f"[{section}]"
        yield from (s.text for s in found)


def _place(step: Step) -> tuple[str, str]:
    return step.file, step.section
