"""The serving model version: the champion, or the previous one if a package that it needs is gone.

It is read from the database for each request, so that all processes of the service switch at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from lutra_models import __version__
from lutra_models.errors import BrokenExtension, MissingExtension
from lutra_models.extensions import Package
from lutra_models.gp.documents import plugged, toml
from lutra_models.gp.options import DEFAULT, Options

from lutra_service.common.documents import Document
from lutra_service.db.schema.records import ModelVersion
from lutra_service.db.store import UnitOfWork

log = logging.getLogger(__name__)

SHIPPED = "mv_0000000000000000000000"
"""The version in the installed package: it needs nothing else, so that it can always serve."""


@dataclass(frozen=True)
class Serving:
    """The version that computes now. `fingerprint` separates its requests from those of another version."""

    version: ModelVersion
    options: Options

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.version)


def fingerprint_of(version: ModelVersion) -> str:
    """Equal for versions that compute the same."""
    return version.fingerprint or DEFAULT.fingerprint


def options_of(version: ModelVersion) -> Options:
    """Options that an earlier package did not have keep their defaults."""
    return DEFAULT if version.options is None else Options.from_dict(version.options)


def document(version: ModelVersion) -> str:
    """Its options as TOML, with the meaning of each."""
    return f"# {version.id}: {version.name!r}\n\n{toml(options_of(version))}"


def serving(unit: UnitOfWork) -> Serving:
    return next(able(unit, unit.models.champion()))


def able(unit: UnitOfWork, version: ModelVersion, after: ModelVersion | None = None) -> Iterator[Serving]:
    """`version` and its predecessors, except those that lack a package, and `after`; the shipped version comes last."""
    for one in former(unit, version):
        options = options_of(one)
        gone = missing(one, options)
        if gone:
            log.warning("%s (%s) cannot serve: %s; the previous version serves", one.id, one.name, "; ".join(gone))
        elif after is None or one.id != after.id:
            yield Serving(one, options)


def asked_of(served: Serving) -> Document:
    """A request's data about its model version; replaces those about another."""
    return {"options": served.options.to_dict(), "packages": served.version.packages}


def former(unit: UnitOfWork, version: ModelVersion) -> Iterator[ModelVersion]:
    """`version`, then each earlier champion, and the shipped version last."""
    seen: set[str] = set()
    id_: str | None = version.id
    while id_ is not None and id_ not in seen:
        seen.add(id_)
        model = unit.models.get(id_)
        yield model
        id_ = model.former_id
    if SHIPPED not in seen:
        yield unit.models.get(SHIPPED)


def missing(version: ModelVersion, options: Options | None = None) -> list[str]:
    """The parts that are not installed, or differ from those at the version's registration; empty if it can compute."""
    try:
        found = plugged(options or options_of(version))
    except BrokenExtension as error:
        return [str(error)]
    gone = []
    for one in found:
        wanted, here = version.packages.get(one.part.option), one.package
        known = f"{one.part.kind} {one.name!r} of {wanted['name']} {wanted['version']}" if wanted else one.name
        if here is None:
            gone.append(f"{known} is not installed")
        elif wanted and here != Package(wanted["name"], wanted["version"]):
            gone.append(f"{known} is required, but {here} is installed: install the former, or register the latter")
    return gone


def require_whole(version: ModelVersion) -> None:
    """Raises MissingExtension."""
    gone = missing(version)
    if gone:
        raise MissingExtension(f"{version.id}: {'; '.join(gone)}")


def packages_of(options: Options) -> Document:
    """The package that provides the named part, by option."""
    return {
        one.part.option: {"name": one.package.name, "version": one.package.version}
        for one in plugged(options)
        if one.package is not None
    }


def package_version(version: ModelVersion) -> str:
    return version.package_version or __version__
