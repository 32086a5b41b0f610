"""A distribution's rooms: few modules in a folder, short chains of imports one way, functions of one screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.house import House, cycle, longest_chain

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = (
    "models/lutra_models",
    "client/lutra_client",
    "agent/lutra_agent",
    "service/lutra_service",
    "lab/lutra_lab",
    "notebooks/lutra_notebooks",
)
MOST_MODULES = 15
LONGEST_CHAIN = 16
LONGEST_FUNCTION = 40
MIGRATIONS = ".migrations.versions."
"""A migration lists tables from top to bottom, and is never edited. Their folder is a list that only grows."""


@pytest.fixture(scope="module", params=DISTRIBUTIONS)
def house(request: pytest.FixtureRequest) -> House:
    return House(ROOT / request.param)


def test_a_folder_holds_few_modules(house: House) -> None:
    crowded = {name: size for name, size in house.folder_sizes().items() if size > MOST_MODULES}
    assert [name for name in crowded if MIGRATIONS not in f"{name}."] == []


def test_no_modules_import_each_other(house: House) -> None:
    assert cycle(house.imports) == []


def test_no_packages_import_each_other(house: House) -> None:
    assert cycle(house.package_imports) == []


def test_no_chain_of_imports_is_long(house: House) -> None:
    chain = longest_chain(house.imports)
    assert len(chain) <= LONGEST_CHAIN, " → ".join(chain)


def test_a_function_fits_on_a_screen(house: House) -> None:
    found = {name: lines for name, lines in house.function_lines() if lines > LONGEST_FUNCTION}
    assert {name: lines for name, lines in found.items() if MIGRATIONS not in name} == {}


def tree(folder: Path, **sources: str) -> House:
    """A package `p`; `room_in_work` is the module `work` of its package `room`."""
    for name, source in {"__init__": "", **sources}.items():
        path = folder / "p" / f"{name.replace('_in_', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return House(folder / "p")


def test_an_import_inside_a_function_closes_a_cycle(tmp_path: Path) -> None:
    found = cycle(tree(tmp_path, a="from p import b", b="def late():\n    from p.a import x").imports)
    assert set(found) == {"p.a", "p.b"}


def test_a_relative_import_closes_one_too(tmp_path: Path) -> None:
    assert cycle(tree(tmp_path, a="from . import b", b="from .a import x").imports)


def test_a_root_that_is_both_floor_and_roof_ties_its_packages_together(tmp_path: Path) -> None:
    made = tree(tmp_path, top="import p.room.work", errors="", room_in_work="from p.errors import E")
    assert cycle(made.imports) == []
    assert set(cycle(made.package_imports)) == {"p", "p.room"}


def test_the_program_itself_ties_nothing_together(tmp_path: Path) -> None:
    made = tree(tmp_path, __main__="import p.room.work", errors="", room_in_work="from p.errors import E")
    assert cycle(made.package_imports) == []


def test_the_longest_chain_is_named_from_its_top(tmp_path: Path) -> None:
    made = tree(tmp_path, a="import p.b, p.c", b="import p.c", c="")
    assert longest_chain(made.imports) == ["p.a", "p.b", "p.c"]


def test_modules_are_counted_by_folder_and_functions_by_lines(tmp_path: Path) -> None:
    made = tree(tmp_path, a="def f():\n    pass\n", room_in___init__="", room_in_b="", room_in_c="")
    assert made.folder_sizes() == {"p": 1, "p.room": 2}
    assert dict(made.function_lines()) == {"p.a.f": 2}
