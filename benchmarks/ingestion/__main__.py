"""Reports a second, in turn with the least that a FastAPI service can do: one row inserted for each.

With --baseline in turn with an older checkout's service instead.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

import click

from benchmarks.attacks.stores import STORES, out_option
from benchmarks.attacks.verdicts import Verdict, conclude, table
from benchmarks.ingestion.load import Load, Measured
from benchmarks.ingestion.services import Running, bare, lutra, older

LEAST_OF_BARE, MOST_P99_OF_BARE = 0.60, 3.0
LEAST_OF_BASELINE = 0.95
COLUMNS = (
    "store",
    "connections",
    "databases",
    "service",
    "reports a second",
    "p50 ms",
    "p99 ms",
    "failed",
    "processor ms",
)

Start = Callable[[], AbstractContextManager[Running]]


@click.command()
@click.option("--store", "stores", type=click.Choice(STORES), multiple=True, default=STORES, show_default=True)
@click.option("--connections", type=click.IntRange(1), multiple=True, default=(16, 200), show_default=True)
@click.option("--databases", type=click.IntRange(1), multiple=True, default=(100, 10_000), show_default=True)
@click.option("--turns", type=click.IntRange(1), default=5, show_default=True)
@click.option(
    "--reports", type=click.IntRange(1), default=1000, show_default=True, help="Of each service in each turn."
)
@click.option("--baseline", type=click.Path(exists=True, file_okay=False, path_type=Path), help="An older checkout.")
@out_option
def main(
    stores: tuple[str, ...],
    connections: tuple[int, ...],
    databases: tuple[int, ...],
    turns: int,
    reports: int,
    baseline: Path | None,
    out: Path | None,
) -> None:
    """How many reports a second are stored, and how long each takes."""
    other = "bare" if baseline is None else "baseline"
    rows: list[tuple[str, ...]] = []
    verdicts: list[Verdict] = []
    for store, known in product(stores, databases):
        rival = partial(bare, store) if baseline is None else partial(older, baseline, store)
        with ExitStack() as stack:
            services = _started(stack, {other: partial(rival, known), "lutra": partial(lutra, store, known)})
            for count in connections:
                case = f"{store}, {count} connections, {known} databases"
                print(case, flush=True)
                found, cpu_ms = _raced(services, count, turns, reports)
                for name, measured in found.items():
                    of = [f"{median(getattr(m, kind) for m in measured):.1f}" for kind in ("per_s", "p50_ms", "p99_ms")]
                    failed = sum(m.failed for m in measured)
                    rows.append((store, str(count), str(known), name, *of, str(failed), f"{cpu_ms[name]:.2f}"))
                verdicts += _verdicts(case, found[other], found["lutra"], baseline is not None)
    print(table(COLUMNS, rows))
    conclude("ingestion", verdicts, {"turns": turns, "reports": reports, "rows": rows}, out)


def _started(stack: ExitStack, services: dict[str, Start]) -> dict[str, Running]:
    return {name: stack.enter_context(start()) for name, start in services.items()}


def _raced(
    services: dict[str, Running], connections: int, turns: int, reports: int
) -> tuple[dict[str, list[Measured]], dict[str, float]]:
    """Every turn of each service, and its processor time a report."""
    loads = {name: Load(s.port, s.reporters, connections) for name, s in services.items()}
    found: dict[str, list[Measured]] = {name: [] for name in services}
    cpu = dict.fromkeys(services, 0.0)
    for load in loads.values():
        load.run(max(reports // 5, 1))
    for turn in range(turns):
        # Whoever is second finds the machine as the first left it: they take turns at that too.
        for name in sorted(services, reverse=bool(turn % 2)):
            before = services[name].cpu_s()
            found[name].append(loads[name].run(reports))
            cpu[name] += (services[name].cpu_s() - before) / (turns * reports) * 1000
    return found, cpu


def _verdicts(case: str, other: list[Measured], ours: list[Measured], is_baseline: bool) -> list[Verdict]:
    rates = [a.per_s / b.per_s for a, b in zip(ours, other, strict=True)]
    least = LEAST_OF_BASELINE if is_baseline else LEAST_OF_BARE
    whose = "the baseline's" if is_baseline else "the bare endpoint's"
    rate = f"{median(rates):.2f} of {whose} ({min(rates):.2f}-{max(rates):.2f})"
    failed = sum(m.failed for m in ours)
    found = [
        Verdict(f"reports a second: {case}", rate, f">= {least:.2f}", median(rates) >= least),
        Verdict(f"not stored: {case}", str(failed), "0", failed == 0),
    ]
    if not is_baseline:
        p99 = median(a.p99_ms / b.p99_ms for a, b in zip(ours, other, strict=True))
        found.append(
            Verdict(f"p99: {case}", f"{p99:.2f} of {whose}", f"<= {MOST_P99_OF_BARE:.2f}", p99 <= MOST_P99_OF_BARE)
        )
    return found


if __name__ == "__main__":
    main(prog_name="python -m benchmarks ingestion")
