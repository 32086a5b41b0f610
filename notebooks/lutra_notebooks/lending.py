"""A surrogate or an acquisition that was written in a notebook, as if an installed package brought it.

Only this process finds it: the service accepts no code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path

from lutra_models import extensions


class _Lent(Distribution):
    """A distribution that is no file: its name, and one entry point."""

    def __init__(self, package: str, entry_point: str) -> None:
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 0\n",
            "entry_points.txt": entry_point,
        }

    def read_text(self, filename: str) -> str | None:
        return self._texts.get(filename)

    def locate_file(self, path: object) -> Path:
        return Path(str(path))


class _Lending(DistributionFinder):
    """Where `importlib.metadata` looks besides the folders of installed packages."""

    def __init__(self) -> None:
        self.lent: dict[str, _Lent] = {}

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        return None

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterable[Distribution]:
        wanted = None if context is None else context.name
        return [found for package, found in self.lent.items() if wanted in (None, package)]


_LENDING = _Lending()


def lend(kind: type) -> str:
    """Let this process find the class `kind`, with its `name`, until it ends; the name, for the options.

    What was lent under the same name before is forgotten, so that a cell may be run again after a change.
    """
    name = str(kind.name)  # type: ignore[attr-defined]
    group = extensions.SURROGATES if hasattr(kind, "fit") else extensions.ACQUISITIONS
    package = f"notebook-{name}"
    _LENDING.lent[package] = _Lent(package, f"[{group}]\n{name} = {kind.__module__}:{kind.__qualname__}\n")
    if _LENDING not in sys.meta_path:
        sys.meta_path.append(_LENDING)
    extensions.plugged.cache_clear()
    return name


def forget() -> None:
    """Undo every `lend`."""
    _LENDING.lent.clear()
    extensions.plugged.cache_clear()
