"""The server's settings: what it takes, what it was given, and which of it waits for a restart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


class Refused(Exception):
    """What the client is told: a code and a message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Setting:
    """`kind` is integer, bool or enum; `applies` is reload or restart."""

    name: str
    default: str
    kind: str = "integer"
    unit: str = ""
    low: int = 0
    high: int = 0
    options: tuple[str, ...] = ()
    applies: str = "reload"

    def read(self, text: str) -> str:
        """The value as the server prints it. Raises Refused."""
        if self.kind != "integer":
            if text in self.options:
                return text
            raise Refused("value", f"{self.name}: {text!r} is not one of {', '.join(self.options)}")
        if not text.lstrip("-").isdigit():
            raise Refused("value", f"{self.name}: {text!r} is not a whole number")
        if not self.low <= int(text) <= self.high:
            raise Refused("value", f"{self.name}: {text} is outside {self.low} to {self.high}")
        return str(int(text))


YES_NO = ("no", "yes")
SETTINGS = (
    Setting("cache", "256", unit="kB", low=64, high=1 << 24),
    Setting("compress", "no", "bool", options=YES_NO),
    Setting("sync", "never", "enum", options=("always", "never")),
    Setting("clients", "100", low=1, high=10_000),
    Setting("readers", "1", low=1, high=64, applies="restart"),
    Setting("arena", "1024", unit="kB", low=1024, high=1 << 40, applies="restart"),
)
"""`arena` takes more than any machine has: the server finds out when it starts."""


class Settings:
    """What is active, and what two files say: the operator's, and above it the one that `SET` writes."""

    def __init__(self, operators: Path, kept: Path) -> None:
        self._operators = operators
        self._kept = kept
        self.known = {s.name: s for s in SETTINGS}
        self.active = {**self._base(), **self.kept()}

    def kept(self) -> dict[str, str]:
        return {n: self._known(n).read(v) for n, v in pairs(self._kept) if n in self.known}

    def __getitem__(self, name: str) -> str:
        return self.active[name]

    def number(self, name: str) -> int:
        return int(self.active[name])

    def set(self, name: str, text: str) -> None:
        value = self._known(name).read(text)
        self._write({**dict(pairs(self._kept)), name: value})
        if self.known[name].applies == "reload":
            self.active[name] = value

    def unset(self, name: str) -> None:
        setting = self._known(name)
        self._write({n: v for n, v in pairs(self._kept) if n != name})
        if setting.applies == "reload":
            self.active[name] = self._base()[name]

    def lines(self) -> Iterator[str]:
        kept, next_start = self.kept(), {**self._base(), **self.kept()}
        for s in SETTINGS:
            waits = "waits" if next_start[s.name] != self.active[s.name] else ""
            ends = (s.low, s.high) if s.kind == "integer" else ("", "")
            fields = (s.name, self.active[s.name], s.kind, s.unit, *ends, ",".join(s.options), s.applies)
            yield "|".join(map(str, (*fields, kept.get(s.name, ""), waits)))

    def _base(self) -> dict[str, str]:
        given = {n: self._known(n).read(v) for n, v in pairs(self._operators) if n != "port"}
        return {**{s.name: s.default for s in SETTINGS}, **given}

    def _known(self, name: str) -> Setting:
        if name not in self.known:
            raise Refused("name", f"{name}: no such setting")
        return self.known[name]

    def _write(self, values: Mapping[str, str]) -> None:
        """All of the file or nothing of it; a file that says so already is left alone."""
        if values == dict(pairs(self._kept)):
            return
        new = self._kept.with_suffix(".new")
        try:
            with new.open("w") as file:
                file.writelines(f"{name} = {value}\n" for name, value in values.items())
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._kept)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise Refused("disk", f"{self._kept.name}: {error.strerror}") from error


def pairs(file: Path) -> list[tuple[str, str]]:
    """The settings of a file; none where there is no file."""
    lines = file.read_text().splitlines() if file.exists() else []
    split = (line.partition("=") for line in lines if not line.startswith("#"))
    return [(name.strip(), value.strip()) for name, equals, value in split if equals]
