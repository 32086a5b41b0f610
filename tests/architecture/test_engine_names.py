"""Engine knowledge has its rooms; everywhere else an engine is a value, and a new one needs no change there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.engines.families import FAMILIES
from lutra_models.catalog import load

ROOT = Path(__file__).parents[2]
SOURCES = (
    "agent/lutra_agent",
    "models/lutra_models",
    "service/lutra_service",
    "lab/lutra_lab",
    "notebooks/lutra_notebooks",
)
ROOMS = (
    "agent/lutra_agent/engines/",
    "models/lutra_models/catalog/",
    "models/lutra_models/assessment/",
    "models/lutra_models/symptoms/",
    "lab/lutra_lab/drivers/",
    "lab/lutra_lab/servers/",
    "lab/lutra_lab/scratch.py",
)
ALLOWED = {
    "service/lutra_service/db/schema/dialects.py": ("postgresql", "pg_database_size"),
    "service/lutra_service/db/schema/engine.py": (
        "PostgreSQL",
        "postgresql",
        "postgres",
        "psycopg",
    ),  # where the service keeps its rows
    **{
        f"service/lutra_service/api/openapi/examples/{name}.py": ("postgresql", *words)
        for name, words in {
            "__init__": ("max_connections", "work_mem"),
            "databases": ("max_connections", "work_mem"),
            "summary": ("work_mem",),
            "tuning": ("ALTER SYSTEM", "max_connections", "work_mem"),
        }.items()
    },
    "service/lutra_service/api/openapi/examples/notices.py": ("work_mem",),  # what an example shows
    "service/lutra_service/db/schema/in_use.py": (
        "PostgreSQL",
        "pg_index",
        "pg_try_advisory_lock",
        "pg_advisory_unlock",
    ),  # the same, while its schema changes
}
"""Words that a file may hold all the same."""

NAME = re.compile(
    r"(?i)\w*(?:postgres|mysql|mariadb|percona|innodb|rocksdb)\w*"
    r"|\bpg(?:_\w+|bench\w*|data|pass\w*)|\b(?:psql|libpq|psycopg|myrocks|redis|valkey|pika)\w*"
)

GRAMMAR = re.compile(
    r"(?i)\b(?:alter|reset)\s+system\b|\b(?:set|reset)\s+(?:persist\w*|global)\b|\bshow\s+(?:global|engine)\b"
    r"|\bgrant\s+\w+(?:\s+\w+)*\s+on\b|@@global\b|\b(?:pgsql|postmaster|autovacuum)\w*|\w*binlog\w*|\w*mysqld\w*"
    r"|\bmy\.cnf\b|[\w-]+auto\.(?:cnf|conf)\b|\b(?:performance|information)_schema\b"
)
"""Statements, files and views that one family alone has."""
SETTINGS = frozenset(r.name for f in FAMILIES for r in load(f.name).rows if "_" in r.name) - {"read_only"}
"""A setting's name without a low line is a word like any other: `jit`, `port`; so is `read_only`."""
WORD = re.compile(r"\w+")


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Line number and word of each engine's name, grammar and settings: in code, strings and comments alike."""
    for number, line in enumerate(text.splitlines(), 1):
        yield from ((number, found.group()) for rule in (NAME, GRAMMAR) for found in rule.finditer(line))
        yield from ((number, word) for word in WORD.findall(line) if word.lower() in SETTINGS)


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


def test_the_search_reaches_every_distribution() -> None:
    for source in SOURCES:
        assert sum(p.is_relative_to(ROOT / source) for p in files()) >= 5


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
        "which outranks ALTER SYSTEM",
        "SET PERSIST_ONLY x = 1",
        "set global x = 1",
        "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO a",
        "SELECT @@GLOBAL.datadir",
        "pgsql",
        "sync_binlog",
        "mysqld-auto.cnf",
        "derived from shared_buffers",
        "sort_buffer_size = 4",
    ],
)
def test_a_name_is_seen_in_code_strings_and_comments(line: str) -> None:
    assert list(names_in(line))


@pytest.mark.parametrize(
    "line",
    [
        "engine",
        "a page_size",
        "spikard",
        "pg",
        "reddish",
        "jit",
        "a port",
        "journal_mode=WAL",
        "global memory",
        "set it",
    ],
)
def test_other_words_are_left_alone(line: str) -> None:
    assert not list(names_in(line))
