"""Where the catalogues are: a TOML file for each engine, named after it."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

from lutra_models import extensions

_HERE = resources.files(__package__)
CATALOGUES: tuple[Traversable, ...] = (
    _HERE / "mariadb.toml",
    _HERE / "mysql.toml",
    _HERE / "postgresql.toml",
)


def own_engines() -> tuple[str, ...]:
    """Those of this distribution."""
    return tuple(sorted(map(_engine, CATALOGUES)))


def engines() -> tuple[str, ...]:
    """Those that have a catalogue, here or in another installed package."""
    return tuple(sorted(map(_engine, _files())))


def catalogue_text(engine: str) -> str:
    """Raises KeyError for an engine without a catalogue."""
    return {_engine(file): file for file in _files()}[engine].read_text(encoding="utf-8")


def _files() -> tuple[Traversable, ...]:
    return extensions.extended(CATALOGUES, extensions.CATALOGUES, _engine)


def _engine(file: Traversable) -> str:
    return file.name.removesuffix(".toml")
