"""`lutra models …`: what serves, and what might."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lutra_service.app.models.versions import Form
    from lutra_service.db.schema.records import ModelVersion

PAGE = 500


@click.group()
def models() -> None:
    """Model versions: the options of the recommender, and which of them serve.

    A version is a candidate, the champion or retired. The champion computes every recommendation; a candidate may run
    in its shadow. A change of champion holds for the next recommendation, in all processes of the service.

    \b
    lutra models options >mine.toml         the champion's options, each with its meaning and range
    lutra models register mine.toml --name "wider priors"
    lutra models score mv_…                 how good it would have been on past sessions
    lutra models shadow mv_…                let it predict beside the champion
    lutra models show mv_…                  its scores, beside the champion's
    lutra models promote mv_…               let it serve; `lutra models rollback` undoes that
    """


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def list_models(as_json: bool) -> None:
    """List the model versions, newest first. An asterisk marks the one that serves."""
    from lutra_service.app.models.serving import missing, serving
    from lutra_service.commands.opening import opened

    with opened() as store:
        found, served = store.read(lambda unit: (unit.models.listed(PAGE, None), serving(unit).version.id))
    for version in found:
        gone = "; ".join(missing(version))
        if as_json:
            told = {"id": version.id, "name": version.name, "state": version.state, "shadow": version.shadow}
            click.echo(json.dumps({**told, "serves": version.id == served, "missing": gone}))
        else:
            notes = [version.state, *(["in the shadow"] if version.shadow else []), *([gone] if gone else [])]
            mark = "*" if version.id == served else " "
            click.echo(f"{mark} {version.id}  {_printable(version.name)}  {', '.join(notes)}")


@models.command()
@click.argument("model_id", required=False)
def options(model_id: str | None) -> None:
    """Print the options of MODEL_ID (mv_…), or of the champion, as TOML.

    Each option has above it what it means, its range, and its default where it has another value. `register` reads the
    same document; what it does not name keeps its default.
    """
    from lutra_service.app.models.serving import document
    from lutra_service.commands.opening import opened

    with opened() as store:
        text = store.read(lambda u: document(u.models.champion() if model_id is None else u.models.get(model_id)))
    click.echo(text, nl=False)


@models.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", required=True, help="What is tried.")
@click.option("--note", default="", help="Why, in a sentence.")
def register(file: Path, name: str, note: str) -> None:
    """Register the options in FILE (TOML, or JSON where it ends so) as a candidate, and print its id."""
    from lutra_service.app.models import versions
    from lutra_service.commands.opening import opened

    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is no text: {error}") from error
    form: Form = "json" if file.suffix.lower() == ".json" else "toml"
    with opened() as store:
        made = store.write(lambda unit: versions.register(unit, name[:200], text, form, note[:1000]))
    click.echo(made.id)


@models.command()
@click.argument("model_id")
def promote(model_id: str) -> None:
    """Let MODEL_ID (mv_…) serve from the next recommendation on."""
    from lutra_service.app.models import versions
    from lutra_service.commands.opening import opened

    with opened() as store:
        _say(store.write(lambda u: versions.promote(u, model_id)))


@models.command()
def rollback() -> None:
    """Let the champion before the present one serve again."""
    from lutra_service.app.models import versions
    from lutra_service.commands.opening import opened

    with opened() as store:
        _say(store.write(versions.roll_back))


@models.command()
@click.argument("model_id")
def retire(model_id: str) -> None:
    """Retire the candidate MODEL_ID (mv_…). It can still be promoted later."""
    from lutra_service.app.models import versions
    from lutra_service.commands.opening import opened

    with opened() as store:
        _say(store.write(lambda u: versions.retire(u, model_id)))


def _say(version: ModelVersion) -> None:
    click.echo(f"{version.id} ({_printable(version.name)}) is {version.state}")


def _printable(text: str) -> str:
    """A name may hold what a terminal would take for a command of its own."""
    return "".join(c if c.isprintable() else "?" for c in text)
