"""The surrogates that there are. A new one is a module and its value here."""

from __future__ import annotations

from lutra_models.gp.surrogate.base import Surrogate
from lutra_models.gp.surrogate.gpy_fit import GPY
from lutra_models.gp.surrogate.numpy_fit import NUMPY

SURROGATES: tuple[Surrogate, ...] = (GPY, NUMPY)


def surrogate(name: str) -> Surrogate:
    """Raises ValueError."""
    for one in SURROGATES:
        if one.name == name:
            return one
    raise ValueError(f"no surrogate {name!r}; there are: {', '.join(s.name for s in SURROGATES)}")
