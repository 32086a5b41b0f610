"""An engine's catalogue met with a live server: the one object that the rest of Lutra asks about settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lutra_models.catalog import spaces, starts, sums, values
from lutra_models.catalog.changes import Change, changes
from lutra_models.catalog.readable import Readable, readable
from lutra_models.catalog.rows import CatalogFile, KnobRow, engine_files, read_file
from lutra_models.catalog.units import show
from lutra_models.errors import NotFound
from lutra_models.knobs import Configuration, KnobSpace, Value
from lutra_models.server import Policy, Server, ServerSetting


class Catalog:
    """What is known of one engine's settings. Stateless: every answer follows from the arguments."""

    def __init__(self, file: CatalogFile) -> None:
        self.file = file

    @property
    def engine(self) -> str:
        return self.file.engine

    @property
    def rows(self) -> tuple[KnobRow, ...]:
        return self.file.rows

    def rows_for(self, version: str) -> tuple[KnobRow, ...]:
        """The rows that a version knows. Raises InvalidConfiguration where it does not begin with a number."""
        return tuple(self.file.rows_for(version).values())

    def describe(self, version: str | None = None) -> list[dict[str, Any]]:
        """The rows as plain values, for an API; of every version where none is named."""
        return [r.to_dict() for r in (self.rows if version is None else self.rows_for(version))]

    def read(self, server: Server) -> Configuration:
        """Every catalogue setting that the live server has, in its own units."""
        return values.read(self.file, server)

    def readable(self, settings: Mapping[str, ServerSetting]) -> Readable:
        """Those of a server's reported settings that can be kept, and why each other one of the catalogue cannot."""
        return readable(self.file, settings)

    def space(self, server: Server, policy: Policy, current: Configuration | None = None) -> KnobSpace:
        """The settings that may move. Ranges hold `current` (else the live values); rules judge memory and couplings.

        Raises InvalidConfiguration where the policy contradicts the server, or no setting is left.
        """
        return spaces.space(self.file, server, policy, current)

    def rule_based(self, server: Server, policy: Policy) -> Configuration:
        """Complete over `space(server, policy)`, scaled into the memory limit."""
        return starts.rule_based(self.file, server, policy)

    def parse(self, server: Server, name: str, value: str | int | float) -> Value:
        """ "1GB" → 131072 of 8kB. Raises InvalidConfiguration that says what the server would take."""
        return values.parse(self.file, server, name, value)

    def text(self, name: str, value: Value, unit: str) -> str:
        """131072 of "8kB" → "1GB": what people read, and what the server reads back as exactly this value."""
        return show(value, unit)

    def changes(self, server: Server, target: Mapping[str, Value]) -> tuple[Change, ...]:
        """What to do for each setting that differs from the live server, and how to take it back exactly."""
        return changes(self.file, server, target)

    def worst_case(self, server: Server, configuration: Mapping[str, Value]) -> sums.MemorySum:
        return sums.worst_case(self.file, server, configuration)

    def memory_rule(self, server: Server, policy: Policy) -> sums.MemoryRule:
        return sums.memory_rule(self.file, server, policy)


def engines() -> tuple[str, ...]:
    return engine_files()


@lru_cache(maxsize=16)
def load(engine: str) -> Catalog:
    """Raises NotFound."""
    if engine not in engines():
        raise NotFound(f"unknown engine {engine!r}; known: {', '.join(engines())}")
    return Catalog(read_file(engine))
