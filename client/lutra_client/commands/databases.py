"""`lutra databases …` and `lutra policy`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
from lutra_models.errors import printable

from lutra_client.commands import shown
from lutra_client.commands.terminal import (
    NONE,
    AsJson,
    Database,
    Databases,
    RetiredDatabase,
    asking,
    database_id,
    echo_table,
    headed,
    minute,
    named_databases,
    printed,
    span,
)
from lutra_client.schemas import PolicyPatch

if TYPE_CHECKING:
    from lutra_client.client import Client
    from lutra_client.schemas import DatabaseAnswer


@click.group()
def databases() -> None:
    """List, label, retire and delete databases.

    \b
    lutra databases list
    lutra databases label caches cache-1 cache-2
    lutra databases retire shop
    """


@databases.command("list")
@click.option("--retired", is_flag=True, help="The retired databases instead of those in use.")
@AsJson
@asking
def list_(client: Client, retired: bool, as_json: bool) -> None:
    """List the databases that the token reaches, the oldest first.

    \b
    lutra databases list
    lutra databases list --retired
    """
    found = list(client.databases.list(retired=retired or None))
    if as_json:
        for database in found:
            printed(database)
        return
    now = datetime.now(UTC)
    rows = [
        (
            d["name"],
            d["id"],
            " ".join(filter(None, (d["engine"], d["engine_version"]))),
            d["role"] or "",
            d["label"] or "",
            span(d["last_report_at"], now),
            minute(d["created_at"]),
        )
        for d in found
    ]
    header = ("DATABASE", "ID", "ENGINE", "ROLE", "LABEL", "LAST REPORT", "REGISTERED (UTC)")
    echo_table(header, rows, "no database is retired" if retired else "this token reaches no database")


@databases.command()
@click.argument("label")
@click.argument("names", nargs=-1, required=True, metavar="DATABASE …")
@AsJson
@asking
def label(client: Client, label: str, names: tuple[str, ...], as_json: bool) -> None:
    """Set the LABEL of databases; `none` removes it.

    Databases with the same label learn from each other. `policy`, `guardrails`, `windows` and `findings` take
    `label:LABEL` in place of a database.

    \b
    lutra databases label caches cache-1 cache-2
    """
    for id_ in [database_id(client, name) for name in names]:
        changed = client.databases.change(id_, label=None if label == NONE else label)
        if as_json:
            printed(changed)
        else:
            click.echo(printable(f"{changed['name']}: {changed['label'] or 'no label'}"))


@databases.command()
@Database
@AsJson
@asking
def retire(client: Client, database: str | None, as_json: bool) -> None:
    """Hide a database that is out of use, and refuse its agent's reports. Stored data are kept.

    \b
    lutra databases retire shop
    """
    _show(client.databases.retire(database_id(client, database)), as_json)


@databases.command()
@RetiredDatabase
@AsJson
@asking
def unretire(client: Client, database: str | None, as_json: bool) -> None:
    """Put a retired database back into use. Its agent's reports are stored again.

    \b
    lutra databases unretire shop
    """
    _show(client.databases.unretire(database_id(client, database, retired=True)), as_json)


@databases.command()
@RetiredDatabase
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@AsJson
@asking
def delete(client: Client, database: str | None, yes: bool, as_json: bool) -> None:
    """Permanently delete a retired database and all its stored data. This needs a token with the scope `admin`.

    \b
    lutra databases retire shop
    lutra databases delete shop
    """
    found = client.databases.get(database_id(client, database, retired=True))
    if not yes:
        click.confirm(
            f"Delete {printable(found['name'])} ({printable(found['id'])}) and all its stored data?",
            abort=True,
            err=True,
        )
    _show(client.databases.delete(found["id"]), as_json, ": deleted")


@click.command()
@Databases
@click.argument("parts", nargs=-1, metavar="[PART=VALUE …]")
@AsJson
@asking
def policy(client: Client, database: str | None, parts: tuple[str, ...], as_json: bool) -> None:
    """Show what may be tuned, or change the given parts of it.

    VALUE is JSON, or a word. `pins`, `ranges` and `movable` are replaced whole; `movable=null` means all settings that
    are tuned by default.

    \b
    lutra policy shop
    lutra policy label:caches memory_fraction=0.6 restart=true
    lutra policy shop 'pins={"work_mem": "16MB"}'
    """
    changed: Any = dict(_part(word) for word in parts)
    named = named_databases(client, database)
    for name, of in named.items():
        found = client.databases.change(of, policy=changed) if changed else client.databases.get(of)
        headed(name, named, as_json)
        if as_json:
            printed(found["policy"])
        else:
            echo_table(("PART", "VALUE"), [(part, json.dumps(value)) for part, value in found["policy"].items()], "")


def _show(found: DatabaseAnswer, as_json: bool, done: str = "") -> None:
    if as_json:
        printed(found)
    else:
        click.echo(f"{shown.database(found)}{done}")


def _part(word: str) -> tuple[str, Any]:

    name, equals, value = word.partition("=")
    if not equals or name not in PolicyPatch.__annotations__:
        raise click.UsageError(
            f"{printable(word)} is not PART=VALUE; the parts are {', '.join(PolicyPatch.__annotations__)}"
        )
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
