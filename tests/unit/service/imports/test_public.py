"""The public tables: read as any file is, kept whole and once, and leant on by those who may."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lutra_client.commands.program import main
from lutra_models import History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.gp.options import DEFAULT
from lutra_service.app.workloads import choose
from lutra_service.app.workloads.imports import public_tables
from lutra_service.app.workloads.imports.workload import MODELLED
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.schema.records import Database
from lutra_service.db.store import Store, utc_now

from tests.support.service.application import migrated

pytestmark = pytest.mark.slow

SMALL = ("dbtune-sysbench-5.csv", "opadviser-sysbench-6.csv")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed lutra-public of two small tables."""
    found = tmp_path / "lutra_public"
    shutil.copytree(public_tables.folder(), found)
    head, *entries = (found / public_tables.LIST).read_text().split("[[table]]")
    kept = (entry for entry in entries if any(f'"{name}"' in entry for name in SMALL))
    (found / public_tables.LIST).write_text("[[table]]".join([head, *kept]))
    monkeypatch.setattr(public_tables, "folder", lambda: found)
    return found


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("LUTRA_DATABASE_URL", url := migrated(tmp_path))
    store = Store(make_engine(url))
    yield store
    store.close()


def imported() -> Result:
    return CliRunner().invoke(main, ["import", "public"])


def kept(store: Store) -> list[tuple[str, str]]:
    rows = store.read(lambda unit: unit.workloads.page(limit=50))
    return sorted((row.name, row.key) for row in rows)


def test_every_public_table_is_understood_and_says_where_it_is_from_and_may_be_given_on() -> None:
    place = public_tables.folder()
    for one in public_tables.read(place):
        assert one.table.source.startswith("https://")
        licence, _, file = one.table.licence.partition(", ")
        assert licence in (place / file).read_text(), one.table.name
        assert len(one.history.observations) == MODELLED
        assert one.history.observations[0].completed
        assert all("qps" in o.metrics for o in one.history.completed)
        even = [k for k in one.history.space if isinstance(k.domain, Number) and not k.domain.log]
        seen = [o.configuration for o in one.history.observations]
        assert [k.name for k in even if any(c[k.name] not in k.domain for c in seen)] == [], one.table.name


def test_without_the_distribution_it_is_told_how_to_install_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_tables, "find_spec", lambda _: None)
    told = imported()
    assert (told.exit_code, "pip install lutra-public" in told.output) == (1, True)
    assert kept(store) == []


@pytest.mark.parametrize(
    ("cell", "broken", "line", "said"),
    [("6654.44", "fast", 2, "'fast' is not a number"), ("8192,685,", "8192,", 3, "6 cells under 7 column names")],
)
def test_of_a_broken_table_none_is_kept(
    store: Store, place: Path, cell: str, broken: str, line: int, said: str
) -> None:
    file = place / public_tables.TABLES / SMALL[0]
    file.write_text(file.read_text().replace(cell, broken, 1))
    told = imported()
    assert told.exit_code == 1
    assert f"{file}:{line}:" in told.output
    assert said in told.output
    assert kept(store) == []


def test_a_list_that_names_a_file_elsewhere_is_refused(store: Store, place: Path) -> None:
    list_ = place / public_tables.LIST
    list_.write_text(list_.read_text().replace(SMALL[0], "../secret.csv"))
    told = imported()
    assert (told.exit_code, "file: String should match pattern" in told.output) == (1, True)
    assert kept(store) == []


@pytest.mark.slow
def test_public_tables_are_kept_once_and_leant_on_by_whom_the_policy_lets(store: Store, place: Path) -> None:
    assert imported().output.splitlines()[-1].startswith("2 fitted, 0 taught nothing, 0 failed")
    first = kept(store)
    assert len(first) == 2
    again = imported().output.splitlines()
    assert again[-2] == "nothing changed: all tables had been imported before"
    assert kept(store) == first
    assert [leaning(store, *of) for of in (("mysql", "label"), ("mysql", "none"), ("mariadb", "all"))] == [2, 0, 0]
    file = place / public_tables.TABLES / SMALL[0]
    file.write_text("\n".join(file.read_text().splitlines()[:50]) + "\n")
    changed = imported().output
    assert (changed.count("changed: "), changed.count("known: ")) == (1, 1)
    assert [name for name, _ in kept(store)] == [name for name, _ in first], "a newer table takes the older one's place"
    assert len(set(kept(store)) - set(first)) == 1


def leaning(store: Store, engine: str, past: str) -> int:
    """On how many workloads a first session leans that has measured a little."""
    name = f"{engine}-{past}"
    database = Database(f"db_{name}", name, engine, {"past": past}, utc_now(), label="ours")
    store.write(lambda unit: unit.databases.add(database))
    space = KnobSpace([Knob("innodb_thread_concurrency", Number(4, 128, log=True, integer=True, special=(0,)))])
    seen = [Observation({"innodb_thread_concurrency": n}, {"qps": 100.0 * n}) for n in (4, 8, 16)]
    history = History(space, Objective("qps", "maximize"), observations=seen)
    return len(store.read(lambda unit: choose.likeliest(unit, database, "ts_none", history, DEFAULT)))
