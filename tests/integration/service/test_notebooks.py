"""The notebooks run from the first cell to the last against a running service with a small fleet of tuned databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_notebooks.command import BOOK
from lutra_notebooks.opened import LIVE
from nbclient import NotebookClient

from tests.support.servers.engines import a_database
from tests.support.service.fleet import Fleet, a_fleet, grow
from tests.support.service.public_tables import few_public_tables
from tests.support.service.served import UNHURRIED, Served
from tests.support.service.sessions import tune
from tests.support.waiting import PATIENCE_S, until_done

pytestmark = pytest.mark.slow
LOADING = ("text/html", "application/javascript")
"""What a browser would run; a chart that is drawn with such a one asks another host for its script."""
FORGETTING = f"""
from lutra_notebooks import versions
versions.first_after.__defaults__ = versions.scored.__defaults__ = ({PATIENCE_S},)
versions.watched.__defaults__ = (6, {PATIENCE_S})
%reset -f
"""
WITHOUT_DATA = "lutra demo --keep"
"""What a notebook says where it has nothing to draw."""
STORES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)]


@pytest.fixture(scope="module", params=STORES)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with ExitStack() as stack:
        url = None
        if request.param == "postgresql":
            server: ScratchPostgres = request.getfixturevalue("store_postgres")
            url = stack.enter_context(a_database(server))
        environment = {"LUTRA_SWEEP_S": "0.2", **UNHURRIED}
        yield stack.enter_context(Served(tmp_path_factory.mktemp("fleet"), url, **environment))


@pytest.fixture(scope="module")
def fleet(served: Served) -> Fleet:
    return a_fleet(served)


@pytest.fixture(scope="module")
def kernel(fleet: Fleet) -> Iterator[KernelManager]:
    with a_kernel(fleet.served, "models") as kernel:
        yield kernel


@contextmanager
def a_kernel(served: Served, scope: str) -> Iterator[KernelManager]:
    """One for all notebooks on a service: starting it and importing pandas takes longer than most of them."""
    manager = KernelManager()
    token = served.api.take("POST", "/v1/tokens", {"name": "data science", "scopes": [scope]})["token"]
    environment = {**served.env, "LUTRA_URL": str(served.client.base_url), "LUTRA_TOKEN": token}
    manager.start_kernel(env=environment, cwd=str(served.directory))
    waiting = manager.blocking_client()
    waiting.start_channels()
    waiting.wait_for_ready(timeout=PATIENCE_S)
    waiting.stop_channels()
    try:
        yield manager
    finally:
        manager.shutdown_kernel(now=True)


@dataclass(frozen=True)
class Told:
    """What a notebook answered, cell by cell, and how many charts it drew."""

    texts: list[str]
    charts: int

    def holding(self, words: str) -> str:
        return next(text for text in self.texts if words in text)


def run(name: str, kernel: KernelManager) -> Told:
    """In a kernel that has forgotten what other notebooks said, and for as long as this machine takes."""
    notebook = nbformat.read(BOOK / f"{name}.ipynb", as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FORGETTING))
    client = NotebookClient(notebook, km=kernel, timeout=3 * int(PATIENCE_S), startup_timeout=int(PATIENCE_S))
    client.execute()
    outputs = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    shown: list[dict[str, Any]] = [o["data"] for o in outputs if o.output_type == "execute_result"]
    assert not [d for d in shown if any("http" in str(d.get(kind, "")) for kind in LOADING)]
    printed = [o["text"] for o in outputs if o.output_type == "stream"]
    assert not [o for o in outputs if o.output_type == "stream" and o["name"] == "stderr"], printed
    drawn = [d["image/svg+xml"] for d in shown if "image/svg+xml" in d]
    assert all(LIVE in d for d in shown if "image/svg+xml" in d)
    assert all("<path" in svg or "<rect" in svg for svg in drawn)
    said = [d.get("text/markdown", d.get("text/plain", "")) for d in shown]
    return Told([*printed, *said], len(drawn))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, KernelManager]]:
    """A service that nobody has used yet, beside which few public tables are installed; and a token that reads."""
    folder = tmp_path_factory.mktemp("tables")
    path = {"PYTHONPATH": str(few_public_tables(folder))}
    with Served(folder, **path, **UNHURRIED) as served, a_kernel(served, "read") as kernel:
        yield served, kernel


DRAWN = {
    "00_my_session": 0,
    "01_workloads": 0,
    "02_settings": 6,
    "03_forecasts": 5,
    "04_retrain": 4,
    "05_promote": 0,
    "06_my_table": 5,
}
"""Figures of each notebook on a service with public tables alone."""


def test_each_notebook_says_what_is_missing_on_an_empty_service(tables: tuple[Served, KernelManager]) -> None:
    _, kernel = tables
    for name in (n for n in DRAWN if n != "06_my_table"):
        told = run(name, kernel)
        assert told.charts == 0, name
        assert told.holding("There is no candidate" if name == "05_promote" else WITHOUT_DATA)


@pytest.mark.thorough
def test_each_notebook_draws_public_tables(tables: tuple[Served, KernelManager]) -> None:
    served, kernel = tables
    served.run("import", "public")
    found = {name: run(name, kernel) for name in DRAWN}
    assert {name: told.charts for name, told in found.items()} == DRAWN
    assert found["04_retrain"].holding("TPC-C on Azure (TUNA)")
    assert found["03_forecasts"].holding("replayed predictions")


@pytest.mark.thorough
def test_one_session_is_drawn_with_what_it_cost_and_what_holds(tmp_path: Path) -> None:
    with Served(tmp_path, LUTRA_SWEEP_S="0.2", **UNHURRIED) as served:
        tune(served, 8, rounds=3)
        with a_kernel(served, "read") as kernel:
            mine = run("00_my_session", kernel)
            others = [run(name, kernel).charts for name in list(DRAWN)[1:6]]
    assert mine.charts == 4
    assert mine.holding("8 trials in")
    assert others[0] >= 1
    assert others[2] == 6


@pytest.mark.thorough
def test_the_fleets_workloads_are_mapped_and_alike_ones_are_named(fleet: Fleet, kernel: KernelManager) -> None:
    told = run("01_workloads", kernel)
    assert told.charts == 3
    nearest = dict(line.split()[:2] for line in told.holding("most alike").splitlines()[2:])
    assert (nearest["shop"], nearest["till"]) == ("till", "shop")
    assert (nearest["warehouse"], nearest["books"]) == ("books", "warehouse")
    assert "sessions-cache" not in nearest  # the only one of its engine


def test_what_matters_is_found_over_the_workloads_and_in_one_session(fleet: Fleet, kernel: KernelManager) -> None:
    told = run("02_settings", kernel)
    assert told.charts == 6
    assert "max_wal_size" in told.holding("varied")


def test_predictions_are_compared_with_what_was_measured(fleet: Fleet, kernel: KernelManager) -> None:
    told = run("03_forecasts", kernel)
    assert told.charts == 6
    assert all(member in told.holding("width") for member in fleet.members)


@pytest.mark.thorough
def test_options_and_a_surrogate_of_ones_own_race_against_the_champion(fleet: Fleet, kernel: KernelManager) -> None:
    told = run("04_retrain", kernel)
    assert told.charts == 4
    assert told.holding("the suite that Lutra's own surrogates pass")
    assert "tpcc at azure" in told.texts[-1] or told.holding("'tpcc at azure': '40 trials")
    assert all(entrant in told.holding("log_score") for entrant in ("mine", "mine, two priors"))
    assert [m["id"] for m in fleet.served.api.take("GET", "/v1/models")["items"] if m["serves"]] == [fleet.champion]


def score(fleet: Fleet, version: str) -> None:
    path = f"/v1/models/{version}"
    fleet.served.api.take("POST", f"{path}/score")
    scoring = until_done(lambda: fleet.served.api.take("GET", path)["scoring"], lambda s: s["state"] != "waiting")
    assert scoring["state"] == "done", scoring


@pytest.mark.thorough
@pytest.mark.parametrize("served", ["sqlite"], indirect=True)
def test_the_better_candidate_is_promoted_serves_and_is_rolled_back(fleet: Fleet, kernel: KernelManager) -> None:
    versions = (fleet.champion, fleet.better, fleet.absurd)
    fleet.members["shop"].tune(fleet.served.api)  # six sessions with one that differs are too few to decide
    for version in versions:
        score(fleet, version)
    with fleet.members["till"].at_work():
        told = run("05_promote", kernel)
    assert told.charts == 2
    assert "'narrower intervals' is the champion" in told.holding("is the champion")
    assert f"was computed by {fleet.better}" in told.holding(f"computed by {fleet.better}")
    assert f"was computed by {fleet.champion}" in told.holding(f"computed by {fleet.champion}")
    scores = {m: fleet.served.api.take("GET", f"/v1/models/{m}") for m in versions}
    cards = [scores[m]["scorecard"]["log_score"] for m in (fleet.better, fleet.champion, fleet.absurd)]
    assert cards == sorted(cards, reverse=True)
    shadow = scores[fleet.absurd]["in_shadow"]
    assert shadow["candidate"]["log_score"] < shadow["served"]["log_score"]
    assert [m["state"] for m in scores.values()] == ["champion", "retired", "candidate"]


@pytest.mark.thorough
def test_a_fleet_of_two_hundred_databases_is_drawn(tmp_path: Path) -> None:
    with Served(tmp_path, LUTRA_SWEEP_S="0.2", **UNHURRIED) as served:
        grow(a_fleet(served), times=40)
        with a_kernel(served, "models") as kernel:
            found = {
                name: run(name, kernel) for name in ("00_my_session", "01_workloads", "02_settings", "03_forecasts")
            }
    assert [told.charts for told in found.values()] == [3, 3, 6, 6]
