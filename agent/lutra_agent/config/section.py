"""One table of a TOML file, read key by key with its type; what nobody asked for is refused, so typos show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from lutra_agent.errors import ConfigError

T = TypeVar("T")


class Section:
    def __init__(self, name: str, table: Mapping[str, Any]) -> None:
        self.name = name
        self._table = table
        self._asked: set[str] = set()

    def text(self, key: str, default: str | None = None) -> str:
        value = self._take(key, default)
        if value is None:
            raise ConfigError(f"{self._key(key)} is missing")
        if not isinstance(value, str):
            raise ConfigError(f"{self._key(key)}: expected text, got {value!r}")
        return value

    def path(self, key: str) -> Path | None:
        text = self.text(key, "")
        return Path(text).expanduser() if text else None

    def number(self, key: str, default: float | None, low: float, high: float) -> float:
        value = self._take(key, default)
        if value is None:
            raise ConfigError(f"{self._key(key)} is missing")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ConfigError(f"{self._key(key)}: expected a number, got {value!r}")
        if not low <= value <= high:
            raise ConfigError(f"{self._key(key)}: {value} is outside [{low:g}, {high:g}]")
        return float(value)

    def integer(self, key: str, default: int | None, low: int, high: int) -> int:
        value = self.number(key, default, low, high)
        if not value.is_integer():
            raise ConfigError(f"{self._key(key)}: expected a whole number, got {value}")
        return int(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise ConfigError(f"{self._key(key)}: expected true or false, got {value!r}")
        return value

    def choice(self, key: str, default: str, options: Iterable[str]) -> str:
        value = self.text(key, default)
        if value not in (known := tuple(options)):
            raise ConfigError(f"{self._key(key)}: {value!r} is not one of {', '.join(known)}")
        return value

    def argv(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        value = self._take(key, list(default))
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise ConfigError(f"{self._key(key)}: expected a list of texts, as in ['systemctl', 'restart', 'x']")
        return tuple(value)

    def section(self, key: str) -> Section:
        return self.optional_section(key) or Section(key, {})

    def optional_section(self, key: str) -> Section | None:
        table = self.optional_table(key)
        return None if table is None else Section(key, table)

    def optional_table(self, key: str) -> Mapping[str, Any] | None:
        value = self._take(key, None)
        if value is not None and not isinstance(value, dict):
            raise ConfigError(f"{self._key(key)}: expected a table, got {value!r}")
        return value

    def tables(self, key: str) -> tuple[Section, ...]:
        """A list of tables, each named by its place."""
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise ConfigError(f"{self._key(key)}: expected a list of tables, got {value!r}")
        return tuple(Section(f"{self._key(key)}[{i}]", v) for i, v in enumerate(value))

    def finish(self, result: T = None) -> T:  # type: ignore[assignment]
        """`result`, once nothing of the table is left unread. Raises ConfigError naming what is left."""
        unknown = [k for k in self._table if k not in self._asked]
        if unknown:
            names = ", ".join(self._key(k) for k in unknown)
            raise ConfigError(f"unknown: {names}; known here: {', '.join(sorted(self._asked))}")
        return result

    def _take(self, key: str, default: Any) -> Any:
        self._asked.add(key)
        return self._table.get(key, default)

    def _key(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key
