"""`lutra export` and `lutra import`: measurements from the store and into it."""

from __future__ import annotations

import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lutra_service.commands.verbs import Verb, Verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from lutra_models.catalog import LiveSettings
    from lutra_models.metrics import Goal

    from lutra_service.app.observations.tables import Format
    from lutra_service.app.workloads.imports.mapping import ColumnMapping
    from lutra_service.app.workloads.imports.public_tables import Read
    from lutra_service.app.workloads.imports.raw import RawRow
    from lutra_service.app.workloads.imports.workload import Workload
    from lutra_service.app.workloads.lessons import Outcome

MOMENT = click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"))
A_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FORMATS = {"csv": (".csv",), "jsonl": (".jsonl", ".ndjson"), "parquet": (".parquet",), "openbox": (".json",)}
"""The file name extensions of each format; `.gz` may follow that of a text. A folder is OtterTune's."""


@click.command(cls=Verb)
def public() -> None:
    """Import the public tables of lutra-public as past workloads, so that a first session can learn from them.

    Either all tables are stored or none; existing ones are not changed. Then they are fitted, as `lutra train` does.
    Databases whose policy says `past: none` never use them.

    \b
    lutra import public
    """
    from lutra_models.errors import LutraError

    from lutra_service.app.jobs.training import train
    from lutra_service.app.workloads.imports.public_tables import folder, keep, read
    from lutra_service.commands.opening import check_schema, opened
    from lutra_service.common.settings import Settings
    from lutra_service.workers.protocol import NoWorker

    settings = Settings()
    refusal = settings.refusal_of_scheduler()
    if refusal is not None:
        raise click.ClickException(refusal)
    check_schema(settings)
    try:
        tables = read(folder())
    except (LutraError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    with opened(settings) as store:
        outcomes = store.write(lambda unit: keep(unit, tables))
        tell(tables, outcomes)
        try:
            trained = train(store, settings, threading.Event(), click.echo)
        except NoWorker as error:
            raise click.ClickException(f"imported, but not fitted yet ({error}): run `lutra train`") from error
    click.echo(str(trained))


def tell(tables: list[Read], outcomes: list[Outcome]) -> None:
    for one, outcome in zip(tables, outcomes, strict=True):
        count, settings = len(one.history.observations), len(one.history.space.names)
        click.echo(
            f"{outcome}: {one.table.name}, {one.table.engine} {one.table.engine_version}: {count} observations of "
            f"{settings} settings ({one.table.source}; {one.table.licence})"
        )
    if set(outcomes) <= {"known"}:
        click.echo("nothing changed: all tables had been imported before")


@click.command("export", cls=Verb)
@click.option("--format", "format_", type=click.Choice(["jsonl", "csv", "parquet"]), default="jsonl", show_default=True)
@click.option("--engine", help="Only databases of this engine.")
@click.option("--database", help="Only this database (db_…).")
@click.option("--session", help="Only this session (ts_…).")
@click.option("--since", type=MOMENT, help="Only windows that ended after this moment; UTC unless it has an offset.")
@click.option("--until", type=MOMENT, help="Only windows that began before this moment.")
@click.option("--metric", "metrics", multiple=True, help="Only this metric; can be repeated.")
def export(
    format_: Format,
    since: datetime | None,
    until: datetime | None,
    metrics: tuple[str, ...],
    **of: Any,
) -> None:
    """Write all observations, with the settings that were active, as GET /v1/observations does.

    \b
    lutra export >observations.jsonl
    lutra export --format parquet --since 2026-01-01 >observations.parquet
    """
    from lutra_service.app.observations.selection import require_known, selected
    from lutra_service.app.observations.tables import encoded
    from lutra_service.commands.opening import opened
    from lutra_service.db.schema.records import Selection

    chosen = {"engine": of["engine"], "database_id": of["database"], "session_id": of["session"]}
    wanted = Selection(since=_utc(since), until=_utc(until), metrics=metrics, **chosen)
    with opened() as store:
        store.read(lambda unit: require_known(unit, wanted))
        chunks = encoded(selected(store, wanted), format_)
        sys.stdout.buffer.writelines(chunks)


class Import(Verbs):
    """An argument that is not the name of a command is a file."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["file", *args])


@click.group(
    "import", cls=Import, context_settings={"ignore_unknown_options": True}, subcommand_metavar="SOURCE | public …"
)
def import_() -> None:
    """Import measurements as past workloads, from which later sessions of the same engine learn.

    `lutra import SOURCE …` reads a file; its options are those of `lutra import file --help`.

    \b
    lutra import file runs.csv --name shop --metric qps --goal maximize --mapping mapping.toml
    lutra import public
    """


@import_.command("file")
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option("--name", required=True, help="The name of the workload's database.")
@click.option("--engine", help="The measured engine, if the file does not name it.")
@click.option("--engine-version", help="The engine's version, such as 16.4, if the file does not name it.")
@click.option("--memory", help="The host's memory, such as 16GB, if the file does not name it.")
@click.option(
    "--cores", type=click.FloatRange(0, min_open=True), help="The host's cores, if the file does not name them."
)
@click.option("--metric", required=True, help="The metric to improve.")
@click.option(
    "--goal", required=True, type=click.Choice(["maximize", "minimize"]), help="The direction of improvement."
)
@click.option(
    "--from",
    "format_",
    type=click.Choice([*FORMATS, "ottertune"]),
    help="The format, if the file's name does not determine it.",
)
@click.option(
    "--mapping",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML file with the meaning of the columns.",
)
@click.option("--sample", type=click.IntRange(3), help="Import only this many rows, spread over the readings.")
@click.option(
    "--label", help="Databases with the same label learn from each other; without a label, databases that have none."
)
def import_file(source: Path, goal: Goal, **given: Any) -> None:
    """Import the measurements in SOURCE as a past workload, from which later sessions of the same engine learn.

    SOURCE is the output of `lutra export`, a table whose columns are settings and metrics (CSV, JSON lines, Parquet),
    an OpenBox history, or a folder with OtterTune's knobs, metrics and summary files. Nothing of a broken file is
    stored.
    """
    from lutra_models.errors import LutraError, printable

    from lutra_service.app.workloads.imports.workload import keep, question
    from lutra_service.app.workloads.lessons import lesson
    from lutra_service.commands.opening import check_schema, opened
    from lutra_service.common.settings import Settings
    from lutra_service.workers.maker import make_worker
    from lutra_service.workers.protocol import NoWorker, WorkerLost

    settings = Settings()
    check_schema(settings)
    try:
        workload, ignored, left_out = _workload(source, goal, **given)
        fates = workload.fates(ignored)
        worker = make_worker(settings)
        try:
            asked = question(workload)
            model = worker.run("learn", asked)["snapshot"]
        finally:
            worker.close()
        if model is None:
            raise click.ClickException(f"{source}: {len(workload.observations)} readings are too few to learn from")
    except (LutraError, WorkerLost, NoWorker, ValueError) as error:
        raise click.ClickException("\n".join(map(printable, str(error).splitlines()))) from error
    with opened(settings) as store:
        session = store.write(lambda unit: keep(unit, workload, model, lesson(asked, model), fates))
    click.echo(f"{session.database_id} {session.id}: {workload.count}")
    if left_out:
        click.echo(f"  {left_out:,} windows without {workload.objective.metric} are left out")
    for line in fates.lines():
        click.echo(f"  {line}")


def _workload(source: Path, goal: Goal, **given: Any) -> tuple[Workload, dict[str, str], int]:
    """With the columns that were not read, each with the reason, and how many rows were left out."""
    from lutra_models.metrics import Objective

    from lutra_service.app.workloads.imports import mapping as meaning
    from lutra_service.app.workloads.imports.parse import observations
    from lutra_service.app.workloads.imports.workload import Workload, sampled

    objective = Objective(given["metric"], goal)
    mapping = meaning.mapping_of(given["mapping"])
    format_ = given["format_"] or _format_of(source)
    rows = _rows(source, format_, lambda: _live(source, [], mapping, given).rows)
    live = _live(source, rows, mapping, given)
    columns = meaning.columns(mapping, rows, live, objective.metric)
    found = observations(rows, mapping, columns, live, objective.metric)
    left_out = len(rows) - len(found)
    if given["sample"] is not None:
        found = sampled(found, objective, given["sample"])
    return Workload(given["name"], source.name, live, objective, found, given["label"]), columns.ignored, left_out


def _live(source: Path, rows: Sequence[RawRow], mapping: ColumnMapping, given: Mapping[str, Any]) -> LiveSettings:
    """The server that was measured: as the command says, else as the first row that tells it."""
    from lutra_models.catalog.units import parse_number
    from lutra_models.server import Host

    from lutra_service.app.workloads.imports.mapping import told_by
    from lutra_service.app.workloads.imports.parse import circumstance
    from lutra_service.app.workloads.imports.raw import Broken
    from lutra_service.app.workloads.imports.workload import unread_server

    def said(option: str, name: str) -> Any:
        """Raises Broken if nobody says it."""
        cell = told_by(mapping, rows, name)
        if given[option] is None and cell is None:
            raise Broken(f"{source} does not name its {name}: pass --{option.replace('_', '-')}")
        return given[option] if cell is None or given[option] is not None else circumstance(name, cell)

    memory, cores = said("memory", "memory_bytes"), said("cores", "cores")
    host = Host(int(parse_number("--memory", str(memory), "B", True)), float(cores))
    return unread_server(said("engine", "engine"), str(said("engine_version", "engine_version")), host)


def _format_of(source: Path) -> str:
    """Raises Broken if its name tells none."""
    from lutra_service.app.workloads.imports.raw import Broken

    if source.is_dir():
        return "ottertune"
    name = source.name.lower().removesuffix(".gz")
    found = next((format_ for format_, ends in FORMATS.items() if name.endswith(ends)), None)
    if found is None:
        raise Broken(f"{source}: its name does not determine its format: pass --from {', '.join(FORMATS)} or ottertune")
    return found


def _rows(source: Path, format_: str, known: Callable[[], Collection[str]]) -> list[RawRow]:
    """`known` gives the settings that are taken of a dump of all. Raises Broken."""
    from lutra_service.app.workloads.imports import exported, json_files, row_files
    from lutra_service.app.workloads.imports.mapping import titles_of
    from lutra_service.app.workloads.imports.raw import Broken

    if format_ == "ottertune":
        return json_files.ottertune(source, known())
    reads = {
        "csv": row_files.read_csv,
        "jsonl": row_files.read_json_lines,
        "parquet": row_files.read_parquet,
        "openbox": json_files.openbox,
    }
    rows = reads[format_](source)
    if not rows:
        raise Broken(f"{source}:1:1: there is no row")
    return exported.plain(rows) if exported.is_export(titles_of(rows)) else rows


def _utc(moment: datetime | None) -> datetime | None:
    from datetime import UTC

    return None if moment is None else moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


import_.add_command(public)
