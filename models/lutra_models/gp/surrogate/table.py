"""The available surrogates. A new one is a module and its value here, or an installed package adds it."""

from __future__ import annotations

from typing import cast

from lutra_models import extensions
from lutra_models.gp.options.reading import Named
from lutra_models.gp.surrogate.base import Surrogate
from lutra_models.gp.surrogate.gpy_fit import GPY
from lutra_models.gp.surrogate.numpy_fit import NUMPY

SURROGATES: tuple[Surrogate, ...] = (GPY, NUMPY)


def surrogate(name: str | Named) -> Surrogate:
    """The surrogate of this name, or the given surrogate itself.

    Raises MissingExtension for an unknown name that no installed package adds, and BrokenExtension.
    """
    if not isinstance(name, str):
        return cast(Surrogate, name)
    for one in SURROGATES:
        if one.name == name:
            return one
    brought: Surrogate = extensions.plugged(extensions.SURROGATES, name)
    return brought


def quick(one: Surrogate) -> Surrogate:
    """A surrogate that fits the same model in less time: GPy's without its refinement, any other one itself."""
    return NUMPY if one is GPY else one
