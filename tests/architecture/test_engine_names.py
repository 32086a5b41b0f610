"""Engine knowledge has its rooms; everywhere else an engine is a value, and a new one needs no change there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("agent/lutra_agent", "models/lutra_models", "service/lutra_service")
ROOMS = (
    "agent/lutra_agent/engines/",
    "agent/lutra_agent/drivers/",
    "agent/lutra_agent/lab/",
    "models/lutra_models/catalog/",
)
ALLOWED = {
    "service/lutra_service/demo/command.py": ("postgresql",),  # what --engine is without a choice
    "service/lutra_service/db/engine.py": (
        "PostgreSQL",
        "postgresql",
        "postgres",
        "psycopg",
    ),  # where the service keeps its rows
}
"""Words that a file may hold all the same."""

NAME = re.compile(
    r"(?i)\w*(?:postgres|mysql|mariadb|percona|innodb|rocksdb)\w*"
    r"|\bpg(?:_\w+|bench\w*|data|pass\w*)|\b(?:psql|libpq|psycopg|myrocks|redis|valkey|pika)\w*"
)


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Line number and word of each engine name: in code, strings and comments alike."""
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, found.group()) for found in NAME.finditer(line))


def files() -> Iterator[Path]:
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*")):
            relative = path.relative_to(ROOT).as_posix()
            if path.is_file() and "__pycache__" not in relative and not relative.startswith(ROOMS):
                yield path


def test_no_engine_is_named_outside_its_rooms() -> None:
    found = []
    for path in files():
        relative = path.relative_to(ROOT).as_posix()
        allowed = ALLOWED.get(relative, ())
        found += [f"{relative}:{n}: {w}" for n, w in names_in(path.read_text()) if w not in allowed]
    assert not found, "\n".join(found)


def test_the_search_reaches_all_three_distributions() -> None:
    for source in SOURCES:
        assert sum(p.is_relative_to(ROOT / source) for p in files()) > 10


@pytest.mark.parametrize("relative", ALLOWED)
def test_each_allowance_is_still_needed(relative: str) -> None:
    assert {w for _, w in names_in((ROOT / relative).read_text())} == set(ALLOWED[relative])


@pytest.mark.parametrize(
    "line",
    [
        "if engine == 'mysql':",
        "import pymysql",
        "PGPASSWORD",
        "# as in PostgreSQL",
        "SELECT pg_reload_conf()",
        "innodb_x",
    ],
)
def test_a_name_is_seen_in_code_strings_and_comments(line: str) -> None:
    assert list(names_in(line))


@pytest.mark.parametrize("line", ["engine", "a page_size", "spikard", "pg", "reddish"])
def test_other_words_are_left_alone(line: str) -> None:
    assert not list(names_in(line))
