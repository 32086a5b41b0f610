"""The server's own file: `name value` in Redis and Valkey, `name : value` in pika.

Every line except those of the catalogue's settings stays unchanged, byte by byte: passwords, comments, others' lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from lutra_models.catalog.statements.redis import IN_FILE, PAIRS, lines, pika_line

_WORD = re.compile(r""""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"']\S*)""")
# Of a line without spaces at its ends: each character is looked at once, however long it is.
_REDIS = re.compile(r"([A-Za-z][\w-]*)(?:\s+(.*))?", re.DOTALL)
_NUMBER = re.compile(r"(-?\d+)([kmgt]?)(b?)", re.ASCII | re.IGNORECASE)
_POWERS = " kmgt"
_PIKA = re.compile(r"([A-Za-z][\w-]*)\s*:\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class Format:
    """The file format of a product: `split` reads a line, `made` gives the lines of a setting; 1k is `kilo`."""

    split: Callable[[str], tuple[str, str] | None]
    made: Callable[[str, str], list[str]]
    kilo: int = 1000

    def says(self, content: bytes, settings: frozenset[str]) -> dict[str, str]:
        """Name → text: for a setting the last line or all its pairs, for any other name all its lines."""
        found: dict[str, list[str]] = {}
        by_file = {IN_FILE.get(name, name): name for name in settings}
        for line in content.decode(errors="replace").splitlines():
            pair = self.split(line)
            if pair is None:
                continue
            name, value = by_file.get(pair[0], pair[0]), pair[1]
            if pair[0] in by_file:
                if not (name in PAIRS and value):
                    found.pop(name, None)
                found.setdefault(name, []).append(value)
            elif name not in settings:
                found.setdefault(name, []).append(value)
        return {n: " ".join(v).strip() if n in settings else "\n".join(v) for n, v in found.items()}

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        """The file with these texts (None removes a setting), new lines last, and every other line unchanged.

        Raises ValueError for a value that no line can hold.
        """
        for name, text in texts.items():
            if text is not None and not text.isprintable():
                raise ValueError(f"{name}: no line of the server's file contains {text!r}")
        said = self.says(content, frozenset(texts))
        changed = {name: text for name, text in texts.items() if said.get(name) != text}
        theirs = {IN_FILE.get(name, name) for name in changed}
        kept = [line for line in content.splitlines(keepends=True) if not self._gives(line, theirs)]
        if kept and not kept[-1].endswith(b"\n"):
            kept[-1] += b"\n"
        new = [line for name, text in changed.items() if text is not None for line in self.made(name, text)]
        return b"".join([*kept, *(f"{line}\n".encode() for line in new)])

    def _gives(self, line: bytes, names: Collection[str]) -> bool:
        pair = self.split(line.decode(errors="replace"))
        return pair is not None and pair[0] in names


def _split_redis(line: str) -> tuple[str, str] | None:
    found = _REDIS.fullmatch(line.strip())
    if found is None:
        return None
    words = [_unquoted(m) for m in _WORD.finditer(found[2] or "")]
    return found[1].lower(), " ".join(words)


def _unquoted(found: re.Match[str]) -> str:
    quoted = found[1] if found[1] is not None else found[2]
    return found[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


def _split_pika(line: str) -> tuple[str, str] | None:
    found = _PIKA.fullmatch(line.strip())
    return None if found is None else (found[1], found[2])


REDIS = Format(_split_redis, lines)
PIKA = Format(_split_pika, lambda name, value: [pika_line(name, value)], kilo=1024)


def same(one: str, other: str, kilo: int = 1000) -> bool:
    """Whether two texts mean one value: 1gb and 1073741824, yes and YES. `kilo` is what the server takes 1k for."""
    return _plain(one, kilo) == _plain(other, kilo)


def _plain(text: str, kilo: int) -> str | int:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return text.strip().lower()
    # 1kb is 1024 everywhere.
    one = 1024 if found[3] else kilo
    return int(found[1]) * int(one ** _POWERS.index(found[2].lower() or " "))
