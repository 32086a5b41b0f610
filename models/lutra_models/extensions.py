"""Additions of other installed packages to Lutra's tuples: engines, drivers, catalogues, scratch servers, and parts of
the recommender.

A package names each such value among its entry points. The value is what would be a line of the tuple in this
repository; a part of the recommender may also be its class. A part is imported where an options document names it, and
nowhere else: a broken package affects only documents that name it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import invalidate_caches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from lutra_models.errors import BrokenExtension, MissingExtension

ENGINES = "lutra.engines"
DRIVERS = "lutra.drivers"
CATALOGUES = "lutra.catalogues"
RENDERERS = "lutra.renderers"
SCRATCH_SERVERS = "lutra.scratch_servers"
SURROGATES = "lutra.surrogates"
ACQUISITIONS = "lutra.acquisitions"
KERNELS = "lutra.kernels"
PARTS = (SURROGATES, ACQUISITIONS, KERNELS)
"""The kinds of parts of the recommender."""

T = TypeVar("T")


def extended(own: Iterable[T], group: str, name: Callable[[T], str]) -> tuple[T, ...]:
    """Lutra's own values, and those that other installed packages add to `group`.

    Raises BrokenExtension for one that cannot be imported, and if two values have one name.
    """
    found: tuple[T, ...] = (*own, *installed(group))
    twice = sorted(n for n, count in Counter(map(name, found)).items() if count > 1)
    if twice:
        raise BrokenExtension(f"{group}: two have the name {', '.join(twice)}; uninstall the package that brings one")
    return found


@cache
def installed(group: str) -> tuple[Any, ...]:
    """The values of one group, in the order of their names. Raises BrokenExtension."""
    return tuple(_loaded(found) for found in sorted(entry_points(group=group), key=lambda found: found.name))


@dataclass(frozen=True)
class Package:
    """An installed distribution."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def package_of(group: str, name: str) -> Package | None:
    """The package that brings `name`; None if none is installed. Nothing is imported. Raises BrokenExtension."""
    found = _found(group, name)
    return None if found is None else _package(found)


def brought() -> frozenset[tuple[str, str, Package | None]]:
    """Group, name and package of every part of the recommender that packages bring now. Nothing is imported."""
    return frozenset((group, one.name, _package(one)) for group in PARTS for one in entry_points(group=group))


def names_of(group: str) -> list[str]:
    """The names that installed packages add; nothing of them is imported."""
    return sorted(entry_points(group=group).names)


def fresh() -> None:
    """Search the installed packages again."""
    plugged.cache_clear()


@cache
def plugged(group: str, name: str) -> Any:
    """The value that a package provides as `name`; an instance if it provides a class.

    Raises MissingExtension if none does, and BrokenExtension for one that cannot be imported or has another name.
    """
    found = _found(group, name)
    if found is None:
        raise MissingExtension(f"no installed package brings {name!r} to {group}; install the one that does")
    value = _loaded(found)
    try:
        made = value() if isinstance(value, type) else value
    except Exception as error:
        raise BrokenExtension(f"{found.value} cannot be made without arguments: {error}") from error
    if getattr(made, "name", None) != name:
        raise BrokenExtension(f"{found.value} is called {getattr(made, 'name', None)!r}, its entry point {name!r}")
    return made


def _found(group: str, name: str) -> EntryPoint | None:
    found = list(entry_points(group=group, name=name))
    if len(found) > 1:
        raise BrokenExtension(f"{group}: two have the name {name}; uninstall the package that brings one")
    return found[0] if found else None


def _package(entry_point: EntryPoint) -> Package | None:
    return None if entry_point.dist is None else Package(entry_point.dist.name, entry_point.dist.version)


def _loaded(entry_point: EntryPoint) -> Any:
    try:
        invalidate_caches()
        return entry_point.load()
    except (Exception, SystemExit) as error:
        package = entry_point.dist.name if entry_point.dist else "an installed package"
        why = str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        place = f"{package} brings {entry_point.name} to {entry_point.group}"
        message = f"{place}, but {entry_point.value} cannot be imported: {why}"
        way_out = "upgrade or uninstall it, or restart this process where it was installed meanwhile"
        raise BrokenExtension(f"{message}; {way_out}") from error
