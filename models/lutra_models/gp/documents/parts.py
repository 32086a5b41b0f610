"""The options that name a part of the recommender: one of Lutra's own, or one that an installed package adds.

Nothing is imported: a name is looked up in the metadata of installed packages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lutra_models import extensions
from lutra_models.extensions import Package
from lutra_models.gp.options.reading import meant, name_of
from lutra_models.gp.options.rooms import Options


@dataclass(frozen=True)
class Part:
    """A part that an option names: the kind, if packages can add parts of it, and Lutra's own."""

    option: str
    kind: str
    group: str
    ours: tuple[str, ...]
    chosen: Callable[[Options], str]

    @property
    def names(self) -> tuple[str, ...]:
        """Lutra's own names, and those that installed packages add."""
        return (*self.ours, *extensions.names_of(self.group))

    def sentence(self) -> str:
        """The available names."""
        return f"{', '.join(self.names)}; an installed package can add more with an entry point of {self.group}"


SURROGATE = Part(
    "surrogate.name",
    "surrogate",
    extensions.SURROGATES,
    ("gpy", "numpy"),
    lambda options: name_of(options.surrogate.name),
)
ACQUISITION = Part(
    "search.acquisition",
    "acquisition",
    extensions.ACQUISITIONS,
    ("log_ei", "log_pi"),
    lambda options: name_of(options.search.acquisition),
)
KERNEL = Part(
    "surrogate.kernel",
    "kernel",
    extensions.KERNELS,
    ("matern52", "matern32", "rbf", "additive"),
    lambda options: name_of(options.surrogate.kernel),
)
PARTS = (SURROGATE, KERNEL, ACQUISITION)


@dataclass(frozen=True)
class Plugged:
    """A part that a package has to provide; `package` is the one that is installed, None if none is."""

    part: Part
    name: str
    package: Package | None


def plugged(options: Options) -> tuple[Plugged, ...]:
    """The parts from packages. Raises BrokenExtension if two packages add the same name."""
    wanted = ((part, part.chosen(options)) for part in PARTS)
    return tuple(Plugged(p, name, extensions.package_of(p.group, name)) for p, name in wanted if name not in p.ours)


def unknown(options: Options) -> list[str]:
    """The options that name an unknown part."""
    return [
        f"{one.part.option}: no {one.part.kind} {one.name!r}{meant(one.name, one.part.names)}; "
        f"there are {one.part.sentence()}"
        for one in plugged(options)
        if one.package is None
    ]
