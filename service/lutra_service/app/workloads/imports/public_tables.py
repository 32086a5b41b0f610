"""The public tables: past workloads of several engines that come with a separate distribution, lutra-public.

The files come from others, like any file that is imported: nothing of a broken one is stored.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lutra_models.catalog.units import parse_number
from lutra_models.history import History
from lutra_models.knobs import Value
from lutra_models.metrics import Goal, Objective
from lutra_models.server import Host
from pydantic import Field, ValidationError

from lutra_service.app.access import audit
from lutra_service.app.errors import InvalidRequest
from lutra_service.app.workloads import lessons
from lutra_service.app.workloads.imports import row_files
from lutra_service.app.workloads.imports.mapping import ColumnMapping, columns
from lutra_service.app.workloads.imports.parse import observations
from lutra_service.app.workloads.imports.raw import Broken, text_of
from lutra_service.app.workloads.imports.workload import Workload, history, unread_server
from lutra_service.db.store import UnitOfWork

PACKAGE = "lutra_public"
LIST, TABLES = "tables.toml", "tables"
UNKNOWN_CORES = 8.0
"""Defaults for a source without them: the ranges of a few settings depend on them, and the context does not name them.
"""


class Table(ColumnMapping):
    """One entry of the list: a file, the server that was measured, and its source. Its columns have the names of
    settings, or are mapped like those of any file; columns that the catalogue does not have are left out.
    """

    file: str = Field(pattern=r"^[A-Za-z0-9_-]+\.csv$")
    name: str = Field(min_length=1, max_length=200)
    engine: str
    engine_version: str
    catalog: str = ""
    memory: str
    cores: float | None = Field(default=None, gt=0)
    metric: str
    goal: Goal
    source: str
    licence: str
    what: str
    ignore: list[str] = Field(default=["*"])


@dataclass(frozen=True)
class Read:
    """A table with the meaning of its columns."""

    table: Table
    history: History


def folder() -> Path:
    """The folder of the tables. Raises InvalidRequest if they are not installed."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise InvalidRequest(
            "the public tables are a separate distribution: pip install lutra-public, or in a checkout ./public"
        )
    return Path(found.submodule_search_locations[0])


def listed(place: Path) -> list[Table]:
    """Raises Broken."""
    file = place / LIST
    try:
        entries = tomllib.loads(text_of(file)).get("table", [])
        return [Table.model_validate(entry) for entry in entries]
    except tomllib.TOMLDecodeError as error:
        raise Broken(f"{file}: this is not TOML: {error}") from error
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise Broken(f"{file}: {told}") from error


def read(place: Path) -> list[Read]:
    """All of them, before anything is kept. Raises Broken, and the other errors for which a table can be refused."""
    return [Read(table, _history(place, table)) for table in listed(place)]


def _history(place: Path, table: Table) -> History:
    file = place / TABLES / table.file
    host = Host(int(parse_number(f"{table.name}: memory", table.memory, "B", True)), table.cores or UNKNOWN_CORES)
    live = unread_server(table.engine, table.catalog or table.engine_version, host)
    rows, objective = row_files.read_csv(file), Objective(table.metric, table.goal)
    if not rows:
        raise Broken(f"{file}:1:1: there is no row")
    found = observations(rows, table, columns(table, rows, live, objective.metric), live, objective.metric)
    told: dict[str, Value] = {"engine": table.engine, "engine_version": table.engine_version}
    told["memory_bytes"] = host.memory_bytes
    context = told if table.cores is None else {**told, "cores": table.cores}
    return history(Workload(table.name, table.file, live, objective, found), context)


def keep(unit: UnitOfWork, tables: Sequence[Read]) -> list[lessons.Outcome]:
    """All of them, for every database whose policy lets it learn from others. A table that is already there stays
    unchanged.

    A table with the same name as another one of its engine replaces it.
    """
    outcomes: list[lessons.Outcome] = []
    for one in tables:
        id_, outcome = lessons.imported(unit, one.history, one.table.engine, one.table.name)
        outcomes.append(outcome)
        if outcome != "known":
            told = one.table.model_dump(include={"name", "engine", "source", "licence"})
            count = len(one.history.observations)
            audit.record(unit, "workload.import", id_, None, {**told, "observations": count}, database_id=None)
    return outcomes
