"""Reports a second over eight connections; with --baseline in turn with an older checkout, and not slower than it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from statistics import median

import click

from benchmarks.attacks.ingestion_load import Checkout, reports_a_second
from benchmarks.attacks.stores import LIFTED, env_option, environment, out_option, scratch_folder
from benchmarks.attacks.verdicts import Verdict, conclude, table

HERE = Path(__file__).resolve().parents[2]
MOST_SLOWER = 0.05


@click.command()
@click.option("--baseline", type=click.Path(exists=True, file_okay=False, path_type=Path), help="An older checkout.")
@click.option("--turns", default=5, show_default=True)
@click.option("--reports", default=100, show_default=True, help="Of each connection in each turn.")
@env_option
@out_option
def main(baseline: Path | None, turns: int, reports: int, env: tuple[str, ...], out: Path | None) -> None:
    """How many reports a second are stored."""
    checkouts = {"this": HERE} if baseline is None else {"baseline": baseline, "this": HERE}
    rates: dict[str, list[float]] = {name: [] for name in checkouts}
    cpu_ms: dict[str, float] = {}
    with ExitStack() as stack:
        services = {}
        for name, path in checkouts.items():
            folder = stack.enter_context(scratch_folder())
            checkout = Checkout(path, folder, {**LIFTED, **environment(env)})
            services[name] = checkout, stack.enter_context(checkout.running())
            reports_a_second(services[name][1], max(reports // 5, 1))
        for turn in range(turns):
            # Whoever is second finds the machine as the first left it: they take turns at that too.
            for name in sorted(services, reverse=bool(turn % 2)):
                checkout, agents = services[name]
                before = checkout.cpu_s()
                rates[name].append(reports_a_second(agents, reports))
                spent = (checkout.cpu_s() - before) / (reports * len(agents)) * 1000
                cpu_ms[name] = cpu_ms.get(name, 0.0) + spent / turns
    rows = [
        (name, f"{median(r):.0f}", f"{min(r):.0f}-{max(r):.0f}", f"{cpu_ms[name]:.2f}") for name, r in rates.items()
    ]
    print(table(("checkout", "reports a second, median", "range", "processor ms a report"), rows))
    verdicts = []
    if baseline is not None:
        ratios = [new / old for new, old in zip(rates["this"], rates["baseline"], strict=True)]
        found = f"{median(ratios):.3f} of the baseline's ({min(ratios):.3f}-{max(ratios):.3f})"
        promised = f">= {1 - MOST_SLOWER:.2f}"
        verdicts.append(Verdict("reports a second", found, promised, median(ratios) >= 1 - MOST_SLOWER))
    conclude("ingestion", verdicts, {"turns": turns, "reports": reports, "rates": rates, "cpu_ms": cpu_ms}, out)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks attacks ingestion")
