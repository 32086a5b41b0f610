"""An engine is its own folders and a line for each tuple that has it; nothing else names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from lutra_models import extensions

from tests.support.servers.families import INSTALLED

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "tests" / "installed"
SOURCES = ("agent", "models", "service", "lab", "tests", "benchmarks", "notebooks", "pyproject.toml", "Makefile")
TUPLES = (
    extensions.ENGINES,
    extensions.DRIVERS,
    extensions.CATALOGUES,
    extensions.RENDERERS,
    extensions.SCRATCH_SERVERS,
    INSTALLED,
)
"""The last is the table of what the tests know of an engine."""
PARTS = ("engine", "driver", "catalogue", "scratch", "server", "tests")
ENGINES = sorted(found.name for found in entry_points(group=extensions.ENGINES))


def lines_outside(engine: str) -> Iterator[str]:
    """Each line that names the engine and lies in none of its folders."""
    name = re.compile(engine, re.IGNORECASE)
    for path in (p for source in SOURCES for p in files(ROOT / source)):
        if not path.is_relative_to(PACKAGES / engine):
            lines = path.read_text(errors="replace").splitlines()
            yield from (f"{path.relative_to(ROOT)}: {line}" for line in lines if name.search(line))


def files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    yield from (p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def test_there_is_one_to_look_at() -> None:
    assert ENGINES


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_is_a_folder_for_each_part_and_a_line_for_each_tuple(engine: str) -> None:
    folders = {p.name for p in (PACKAGES / engine).iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(PARTS)
    for group in TUPLES:
        assert engine in entry_points(group=group).names
    named = {line.partition(":")[2].strip() for line in lines_outside(engine)}
    values = [e for group in TUPLES for e in entry_points(group=group) if e.value.startswith(f"{engine}.")]
    assert named == {f"Name: {engine}", *(f"{e.name} = {e.value}" for e in values)}
    of_its_host = 2  # a further catalogue, and its renderer
    assert len(list(lines_outside(engine))) == 1 + len(TUPLES) + of_its_host
