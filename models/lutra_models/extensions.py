"""What other installed packages add to Lutra's tuples: engines, drivers, catalogues, scratch servers.

A package names each such value among its entry points. The value is what would be a line of the tuple in this
repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from lutra_models.errors import BrokenExtension

ENGINES = "lutra.engines"
DRIVERS = "lutra.drivers"
CATALOGUES = "lutra.catalogues"
RENDERERS = "lutra.renderers"
SCRATCH_SERVERS = "lutra.scratch_servers"

T = TypeVar("T")


def extended(own: Iterable[T], group: str, name: Callable[[T], str]) -> tuple[T, ...]:
    """Our own values, and those that other installed packages bring to `group`.

    Raises BrokenExtension for one that cannot be imported, and where two values have one name.
    """
    found: tuple[T, ...] = (*own, *installed(group))
    twice = sorted(n for n, count in Counter(map(name, found)).items() if count > 1)
    if twice:
        raise BrokenExtension(
            f"{group}: there are two called {', '.join(twice)}; uninstall the package that brings one"
        )
    return found


@cache
def installed(group: str) -> tuple[Any, ...]:
    """The values of one group, in the order of their names. Raises BrokenExtension."""
    return tuple(_loaded(found) for found in sorted(entry_points(group=group), key=lambda found: found.name))


def _loaded(found: EntryPoint) -> Any:
    try:
        return found.load()
    except (ImportError, AttributeError) as error:
        package = found.dist.name if found.dist else "an installed package"
        message = f"{package} brings {found.name} to {found.group}, but {found.value} cannot be imported: {error}"
        raise BrokenExtension(f"{message}; upgrade or uninstall it") from error
