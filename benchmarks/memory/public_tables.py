"""`public-tables`: makes the tables of the distribution lutra-public of those of the tuning benchmark.

Two hundred rows of each: as many as a past workload is fitted to, spread from the worst to the best, the first row
first. Settings that never moved are left out. Of what was measured stay `tps` and `qps`, where one follows from the
other: a transaction of the load has so many statements. Where a time was measured, `qps` is its reciprocal: effects are
relative, and a level of such a table says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import numpy as np
from lutra_models import Observation
from lutra_models.metrics import Objective
from lutra_service.app.workloads.imports.workload import MODELLED, sampled

from benchmarks.tuning.tables import Table, from_history, join_order, sysbench, sysbench_few, tuna

PUBLIC = Path(__file__).parents[2] / "public" / "lutra_public" / "tables"


@dataclass(frozen=True)
class Made:
    """`statements` of a transaction; None where a time was measured, in parts of a second `per_second`."""

    table: Callable[[], Table]
    statements: float | None
    per_second: float = 1.0


PUBLIC_TABLES = {
    "tuna-azure-tpcc": Made(partial(tuna, "tuna-tpcc", "azure__postgres__tpcc", "maximize"), 30),
    "tuna-cloudlab-tpcc": Made(partial(tuna, "tuna-cloudlab", "cloudlab__postgres__tpcc", "maximize"), 30),
    "tuna-azure-epinions": Made(partial(tuna, "tuna-epinions", "azure__postgres__epinions", "maximize"), 3),
    "tuna-azure-tpch": Made(partial(tuna, "tuna-tpch", "azure__postgres__tpch", "minimize", 1e9), None, 1e6),
    "opadviser-sysbench-12": Made(partial(from_history, "sysbench_rw__task18", 0.15), 20),
    "opadviser-sysbench-6": Made(partial(from_history, "sysbench_rw__task33", 0.15), 20),
    "opadviser-twitter-21": Made(partial(from_history, "twitter__task11", 0.05), 1),
    "opadviser-twitter-18": Made(partial(from_history, "twitter__task23", 0.05), 1),
    "dbtune-sysbench-20": Made(sysbench, 20),
    "dbtune-sysbench-5": Made(sysbench_few, 20),
    "dbtune-job-20": Made(join_order, None),
}
"""By the name of the file."""


@click.command("public-tables")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), default=PUBLIC, show_default=True)
def public_tables_command(folder: Path) -> None:
    """Write the tables that `lutra import public` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in PUBLIC_TABLES.items():
        (folder / f"{name}.csv").write_text(written(made))
        click.echo(f"{name}: {(folder / f'{name}.csv').stat().st_size / 2**10:.0f} KiB")


def written(made: Made) -> str:
    """The table as CSV. A row that failed has nothing measured."""
    table = made.table()
    rates = made.per_second / table.values if made.statements is None else table.values
    rows = _spread(rates, table.failed, _first(table))
    frame = table.settings.iloc[rows].reset_index(drop=True)
    frame = frame[[name for name in frame if frame[name].nunique() > 1]].map(_plain)
    measured = np.where(table.failed, np.nan, rates)[rows]
    if made.statements is not None:
        frame["tps"] = [_rounded(v) for v in measured]
    frame["qps"] = [_rounded(v * (made.statements or 1.0)) for v in measured]
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text


def _first(table: Table) -> int:
    """The row of the default, where the table has it; else its first that did not fail."""
    same = np.all([table.settings[n].astype(str) == str(table.default.get(str(n))) for n in table.settings], axis=0)
    found = np.flatnonzero(same & ~table.failed)
    return int(found[0]) if len(found) else int(np.flatnonzero(~table.failed)[0])


def _spread(rates: np.ndarray, failed: np.ndarray, first: int) -> list[int]:
    """The places of the rows that stay."""
    order = [first, *(i for i in range(len(rates)) if i != first)]
    rows = [
        Observation.failed({"row": i}, "failed") if failed[i] else Observation({"row": i}, {"qps": float(rates[i])})
        for i in order
    ]
    return [int(row.configuration["row"]) for row in sampled(rows, Objective("qps", "maximize"), MODELLED)]


def _plain(value: object) -> object:
    """Whole numbers without a point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _rounded(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
