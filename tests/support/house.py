"""A package tree as it is measured: its modules, their imports of each other, and its functions.

An import counts wherever it stands, inside a function too. Needs the source alone: nothing is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Imports = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class House:
    """`root` is the folder of the top package, as `agent/lutra_agent`."""

    root: Path

    @cached_property
    def modules(self) -> dict[str, ast.Module]:
        """By dotted name; a package's own name stands for its `__init__`."""
        files = sorted(p for p in self.root.rglob("*.py") if "__pycache__" not in p.parts)
        return {self._name(path): ast.parse(path.read_text(), str(path)) for path in files}

    @cached_property
    def imports(self) -> Imports:
        """Module → the modules of this tree that it imports."""
        return {name: frozenset(self._imported(name, tree)) for name, tree in self.modules.items()}

    @cached_property
    def package_imports(self) -> Imports:
        """The same between packages: a package is the modules that lie directly in one folder, with its `__init__`."""
        found: dict[str, set[str]] = {}
        for name, imported in self.imports.items():
            mine = found.setdefault(self.package(name), set())
            mine |= {self.package(other) for other in imported} - {self.package(name)}
        return {name: frozenset(others) for name, others in found.items()}

    def package(self, module: str) -> str:
        """`__main__` is a package of its own: nobody imports it, so it ties nothing together."""
        folder = self.root.parent.joinpath(*module.split("."))
        return module if folder.is_dir() or module.endswith(".__main__") else module.rpartition(".")[0]

    def strays(self) -> dict[str, str]:
        """Modules in the wrong folder, each with its only reader: one in another folder, and nothing ties them to
        their own: neither an import, nor a reader that reads more of that folder.
        """
        readers: dict[str, set[str]] = {}
        for name, imported in self.imports.items():
            for other in imported:
                readers.setdefault(other, set()).add(name)
        alone = {name: next(iter(by)) for name, by in readers.items() if len(by) == 1}
        return {name: by for name, by in alone.items() if self.package(name) != name and not self._tied(name, by)}

    def _tied(self, name: str, reader: str) -> bool:
        room = f"{self.package(name)}."
        others = {reader, *self.imports[name], *self.imports[reader]} - {name}
        return any(other.startswith(room) for other in others)

    def function_lines(self) -> Iterator[tuple[str, int]]:
        """Each function and how many lines it takes, from `def` to its end."""
        for name, tree in self.modules.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{name}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.root.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _imported(self, name: str, tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                candidates = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                origin = self._origin(name, node)
                candidates = [f"{origin}.{alias.name}" for alias in node.names]
                candidates = [c if c in self.modules else origin for c in candidates]
            else:
                continue
            yield from (c for c in candidates if c in self.modules and c != name)

    def _origin(self, name: str, node: ast.ImportFrom) -> str:
        """The absolute name of what is imported from."""
        if not node.level:
            return node.module or ""
        here = name if (self.root.parent.joinpath(*name.split("."))).is_dir() else name.rpartition(".")[0]
        for _ in range(node.level - 1):
            here = here.rpartition(".")[0]
        return f"{here}.{node.module}" if node.module else here


def cycle(imports: Imports) -> list[str]:
    """One cycle, its first name again at its end; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []
