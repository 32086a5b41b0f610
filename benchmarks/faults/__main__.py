"""`python -m benchmarks faults`: servers made wrong, each in one way, and what one look of the agent says of them."""

from __future__ import annotations

from pathlib import Path

import click
from lutra_models.errors import LutraError

from benchmarks.faults.faults import FAULTS
from benchmarks.faults.report import KEY, ROWS, write
from benchmarks.faults.run import run
from benchmarks.tuning.rows import Results

RESULTS = Path(__file__).parent / "results"


@click.group(invoke_without_command=True)
@click.option("--engine", "engines", multiple=True, type=click.Choice(list(FAULTS)), help="Default: all.")
@click.option("--fault", "names", multiple=True, help="Whose name has this in it. Default: all.")
@click.option("--again", is_flag=True, help="Also those that have a row.")
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, help="Where rows are kept.")
@click.option("--report", "wanted", is_flag=True, help="Only write RESULTS.md.")
@click.pass_context
def main(
    context: click.Context, engines: tuple[str, ...], names: tuple[str, ...], again: bool, results: Path, wanted: bool
) -> None:
    """Make one thing wrong with a real server under a shop's load, look once, and carry out what the finding says.

    A fault takes a minute or two; interrupt whenever you like, and start the same command again to go on.
    """
    if context.invoked_subcommand is not None:
        return
    file = Results(results / ROWS, KEY)
    for usual in [] if wanted else engines or FAULTS:
        for fault in FAULTS[usual]:
            known = {"fault": fault.name, "server": fault.server or usual} in file
            if (known and not again) or (names and not any(n in fault.name for n in names)):
                continue
            try:
                row = run(fault, usual)
            except (LutraError, TimeoutError) as error:
                click.echo(f"{fault.name}: {error}", err=True)
                continue
            file.add(row)
            click.echo(f"{row['server']}: {fault.name}: line {row['place'] or 'none'}, gone {row['gone']}")
            for kind, name, strength, sentence in row["lines"][:5]:
                click.echo(f"    {strength:.2f} {kind} {name}: {sentence}")
    click.echo(f"wrote {write(results)}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks faults")
