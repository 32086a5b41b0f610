"""What a person at a notebook reads of a public name: its words, and a signature that fits on a screen."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import lutra_client
import lutra_models
import lutra_models.gp
import pytest

SCREEN = 10 * 80
NAMES = [(module, name) for module in (lutra_models, lutra_models.gp, lutra_client) for name in module.__all__]


def members(kind: Any) -> Iterator[tuple[str, Any]]:
    """A class's own public methods and properties, and those of classes of ours that it comes from."""
    ours = [c for c in kind.__mro__ if c.__module__.startswith("lutra_")]
    found = {n: m for c in reversed(ours) for n, m in vars(c).items() if not n.startswith("_")}
    return ((n, m) for n, m in found.items() if inspect.isfunction(m) or isinstance(m, property | classmethod))


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[f"{m.__name__}.{n}" for m, n in NAMES])
def test_a_public_name_teaches_on_one_screen(module: ModuleType, name: str) -> None:
    public = getattr(module, name)
    words = inspect.getdoc(public) or ""
    assert words
    assert not words.startswith(f"{name}("), "a dataclass without a docstring shows its signature"
    if not (inspect.isclass(public) and issubclass(public, Exception)):
        assert len(str(inspect.signature(public))) <= SCREEN
        assert " at 0x" not in str(inspect.signature(public))
    if inspect.isclass(public):
        assert [n for n, member in members(public) if not inspect.getdoc(member)] == []
