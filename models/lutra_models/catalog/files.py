"""The location of the catalogues: a TOML file for each engine, named after it, and one for each further setting source.

The latter says `source = "host"`, the name of that source, and where not every engine may have it, `engines = [...]`.
One that says `extends = "redis"` has all that file has but what it replaces: a setting's rows by those of the same
name, and the settings that it lists in `without`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from lutra_models import extensions

_HERE = resources.files(__package__)
CATALOGUES: tuple[Traversable, ...] = (
    _HERE / "linux.toml",
    _HERE / "mariadb.toml",
    _HERE / "mysql.toml",
    _HERE / "pika.toml",
    _HERE / "postgresql.toml",
    _HERE / "redis.toml",
    _HERE / "valkey.toml",
)


def own_engines() -> tuple[str, ...]:
    """The catalogues of this distribution."""
    return tuple(name for name in engines() if name in set(map(_name, CATALOGUES)))


def engines() -> tuple[str, ...]:
    """The names that have a catalogue, here or in another installed package."""
    return tuple(name for name in catalogues() if "source" not in document(name))


def catalogues() -> tuple[str, ...]:
    """The catalogues of engines and of further setting sources."""
    return tuple(sorted(map(_name, _files())))


def beside(engine: str) -> tuple[str, ...]:
    """The catalogues of the setting sources that the engine may have in addition to the server's own."""
    found = ((name, document(name)) for name in catalogues())
    return tuple(name for name, d in found if "source" in d and engine in d.get("engines", (engine,)))


@lru_cache(maxsize=64)
def document(catalogue: str) -> Mapping[str, Any]:
    """The file's content, merged with the file that it extends. Raises KeyError if there is none."""
    said = tomllib.loads({_name(file): file for file in _files()}[catalogue].read_text(encoding="utf-8"))
    return _over(document(said["extends"]), said) if "extends" in said else said


def _over(base: Mapping[str, Any], said: Mapping[str, Any]) -> Mapping[str, Any]:
    replaced = {*said.get("without", ()), *(row["name"] for row in said.get("setting", ()))}
    # A row of the base means the versions that the base means.
    kept = [{"since": base.get("since", 0), **r} for r in base["setting"] if r["name"] not in replaced]
    own = [{"since": said.get("since", 0), **r} for r in said.get("setting", ())]
    defaults = {**base.get("defaults", {}), **said.get("defaults", {})}
    return {**base, **said, "setting": [*kept, *own], "defaults": defaults}


def _files() -> tuple[Traversable, ...]:
    return extensions.extended(CATALOGUES, extensions.CATALOGUES, _name)


def _name(file: Traversable) -> str:
    return file.name.removesuffix(".toml")
