"""The renderer of each catalogue. A new one is a module and a line in the tuple."""

from __future__ import annotations

from lutra_models import extensions
from lutra_models.catalog.statements.linux import LINUX
from lutra_models.catalog.statements.mariadb import MARIADB
from lutra_models.catalog.statements.mysql import MYSQL
from lutra_models.catalog.statements.postgresql import POSTGRESQL
from lutra_models.catalog.statements.redis import PIKA, REDIS, VALKEY
from lutra_models.catalog.statements.steps import Renderer
from lutra_models.errors import NotFound

RENDERERS: tuple[Renderer, ...] = (LINUX, MARIADB, MYSQL, PIKA, POSTGRESQL, REDIS, VALKEY)


def renderer(catalogue: str) -> Renderer:
    """Raises NotFound for a catalogue without a renderer."""
    renderers = extensions.extended(RENDERERS, extensions.RENDERERS, lambda r: r.catalogue)
    found = next((r for r in renderers if r.catalogue == catalogue), None)
    if found is None:
        known = ", ".join(r.catalogue for r in renderers)
        raise NotFound(f"nothing renders changes of {catalogue!r}; known: {known}")
    return found
