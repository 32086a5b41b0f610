"""Values that other installed packages bring: found by their entry points, and named where they are of no use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_models import extensions
from lutra_models.errors import BrokenExtension

GROUP = "lutra.nothing_of_ours"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The entry points of a package that is installed for one test."""
    folder = tmp_path / "brought-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder / "entry_points.txt"
    extensions.installed.cache_clear()


def test_the_values_of_a_group_follow_our_own_in_the_order_of_their_names(package: Path) -> None:
    package.write_text(f"[{GROUP}]\nsep = os:sep\ncurdir = os:curdir\n")
    assert extensions.extended(("own",), GROUP, str) == ("own", ".", "/")


def test_without_such_a_package_there_are_our_own(package: Path) -> None:
    assert extensions.extended(("own",), GROUP, str) == ("own",)


@pytest.mark.parametrize("value", ["no_such_module:X", "os:no_such_name"])
def test_one_that_cannot_be_imported_is_named_with_its_package(package: Path, value: str) -> None:
    package.write_text(f"[{GROUP}]\nodd = {value}\n")
    with pytest.raises(BrokenExtension, match=rf"brought brings odd to {GROUP}, but {value} cannot be imported"):
        extensions.extended((), GROUP, str)


def test_nobody_replaces_a_value_of_ours(package: Path) -> None:
    package.write_text(f"[{GROUP}]\nmine = os:sep\n")
    with pytest.raises(BrokenExtension, match=rf"{GROUP}: two have the name /; uninstall the package"):
        extensions.extended(("/",), GROUP, str)
