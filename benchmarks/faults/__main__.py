"""`python -m benchmarks faults`: servers made wrong, each in one way, and what one look of the agent says of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click
from lutra_models.errors import LutraError

from benchmarks.faults import healthy, weight
from benchmarks.faults.faults import FAULTS
from benchmarks.faults.lines import alike, distinct
from benchmarks.faults.report import KEY, RIVALS, ROWS, write
from benchmarks.faults.rivals import measure, naming, on_sound, rivals
from benchmarks.faults.run import run
from benchmarks.tuning.rows import Results, newest, read
from tests.support.servers.engines import VARIANTS

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


@main.command("rivals")
@click.option("--mysqltuner", required=True, help="The command that starts it: 'perl mysqltuner.pl'.")
@click.option("--postgresai", required=True, help="The command that starts its program: 'postgresai'.")
@click.option("--fault", "names", multiple=True, help="Whose name has this in it. Default: all.")
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, help="Where rows are kept.")
def others(mysqltuner: str, postgresai: str, names: tuple[str, ...], results: Path) -> None:
    """Let other tools look at the same faults, run as their users run them."""
    file = Results(results / RIVALS, (*KEY, "rival"))
    sound: dict[str, list[str]] = {}
    for rival in rivals(mysqltuner, postgresai):
        for usual, faults in FAULTS.items():
            for fault in faults:
                server = fault.server or usual
                known = {"fault": fault.name, "server": server, "rival": rival.name} in file
                other = VARIANTS[server][0].engine not in rival.engines
                if known or other or (names and not any(n in fault.name for n in names)):
                    continue
                try:
                    if server not in sound:
                        sound[server] = on_sound(server, rival)
                    row = measure(fault, usual, rival, sound)
                except (LutraError, OSError, subprocess.TimeoutExpired) as error:
                    click.echo(f"{fault.name}: {error}", err=True)
                    continue
                file.add({**row, "named": naming(fault, row)})
                click.echo(f"{rival.name}: {server}: {fault.name}: {naming(fault, row) or 'not named'}")
    click.echo(f"wrote {write(results)}")


@main.command("healthy")
@click.option("--server", "names", multiple=True, help="Whose name has this in it. Default: all.")
@click.option("--again", is_flag=True, help="Also those that have a row.")
@click.option("--seconds", default=healthy.SECONDS, show_default=True, help="Of each look.")
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, help="Where rows are kept.")
def look_at_healthy(names: tuple[str, ...], again: bool, seconds: float, results: Path) -> None:
    """Look at servers with which nothing is wrong: no finding above a note is false.

    A server takes a minute and a half; interrupt whenever you like, and start the same command again to go on.
    """
    file = healthy.results_in(results)
    for each in healthy.HEALTHY:
        if ({"healthy": each.name} in file and not again) or (names and not any(n in each.name for n in names)):
            continue
        try:
            row = healthy.look_at(each, seconds)
        except (LutraError, TimeoutError) as error:
            click.echo(f"{each.name}: {error}", err=True)
            continue
        file.add(row)
        click.echo(f"{row['healthy']} ({row['version']}): {len(row['lines'])} above a note")
        for kind, name, strength, sentence, why in healthy.judged(row):
            click.echo(f"    {strength:.2f} {kind} {name}: {sentence} [{why or 'false?'}]")
    click.echo(f"wrote {healthy.write(results)}")


@main.command("weight")
@click.option("--server", "names", multiple=True, help="Whose name has this in it. Default: all.")
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, help="Where rows are kept.")
def weigh(names: tuple[str, ...], results: Path) -> None:
    """Weigh the agent beside ten thousand tables: statements, memory, processor time, locks. Five minutes."""
    for heavy in weight.HEAVY:
        if not names or any(n in heavy.server for n in names):
            row = weight.weigh(heavy)
            weight.results_in(results).add(row)
            click.echo(f"{row['server']}: {row['rss_mb']} MB, {100 * row['cpu_share']:.2f} % of a core")
    click.echo(f"wrote {weight.write(results)}")


@main.command("lines")
@click.option("--engine", "engines", multiple=True, type=click.Choice(list(FAULTS)), help="Default: each.")
@click.option("--results", type=click.Path(path_type=Path), default=RESULTS, help="Where rows are kept.")
def lines(engines: tuple[str, ...], results: Path) -> None:
    """Of the answers of sessions, count those that begin with lines of their own. It measures nothing."""
    rows = newest(read(results / ROWS), KEY)
    for engine in engines or sorted({row["server"] for row in rows}):
        answers = {r["fault"]: r["answer"] for r in rows if r["server"] == engine and r.get("answer")}
        click.echo(f"{engine}: {distinct(answers.values())} of {len(answers)} answers begin with lines of their own")
        for names in alike(answers):
            click.echo(f"    alike: {', '.join(names)}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks faults")
