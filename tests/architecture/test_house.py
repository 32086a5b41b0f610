"""A distribution's rooms: modules that belong to their folder, imports one way, functions of one screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.house import House, cycle

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = (
    "models/lutra_models",
    "client/lutra_client",
    "agent/lutra_agent",
    "service/lutra_service",
    "lab/lutra_lab",
    "notebooks/lutra_notebooks",
)
LONGEST_FUNCTION = 40
MIGRATIONS = ".migrations.versions."
"""A migration lists tables from top to bottom, and is never edited."""
ENTRIES = {
    "lutra_service.api.reports.reports": "an entry of the REST interface, which its list of routes alone reads",
    "lutra_service.app.databases.figures": "a use case of `/metrics` alone",
    "lutra_service.app.tuning.result.expiry": "an end of the loop that time brings: the sweep alone asks for it",
}
"""Modules whose only reader is far away, and why they are where they are."""


@pytest.fixture(scope="module", params=DISTRIBUTIONS)
def house(request: pytest.FixtureRequest) -> House:
    return House(ROOT / request.param)


def test_a_module_belongs_to_its_folder(house: House) -> None:
    assert {name: by for name, by in house.strays().items() if name not in ENTRIES} == {}


def test_no_modules_import_each_other(house: House) -> None:
    assert cycle(house.imports) == []


def test_no_packages_import_each_other(house: House) -> None:
    assert cycle(house.package_imports) == []


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


def test_a_module_that_another_folder_alone_reads_is_a_stray(tmp_path: Path) -> None:
    made = tree(tmp_path, room_in_work="", room_in_far="", hall_in_a="import p.room.far", hall_in_b="import p.hall.a")
    assert made.strays() == {"p.room.far": "p.hall.a"}


def test_a_module_that_its_folder_or_its_readers_share_is_none(tmp_path: Path) -> None:
    made = tree(
        tmp_path, room_in_a="", room_in_b="import p.room.a", top="import p.room.b", roof="import p.top, p.floor"
    )
    assert made.strays() == {}


def test_functions_are_counted_by_lines(tmp_path: Path) -> None:
    assert dict(tree(tmp_path, a="def f():\n    pass\n").function_lines()) == {"p.a.f": 2}
