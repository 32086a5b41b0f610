"""`lutra tokens …` and `lutra audit`: who may do what, and who did."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click
from lutra_models.errors import printable
from lutra_models.maintenance import ago

from lutra_client.commands.terminal import (
    AsJson,
    Named,
    asking,
    database_id,
    echo_table,
    is_id,
    minute,
    printed,
    within,
)
from lutra_client.schemas import AuditAnswer, NewToken, NewTokenAnswer, TokenAnswer

if TYPE_CHECKING:
    from lutra_client.client import Client

NEWEST = 50
SCOPES = get_args(get_args(get_type_hints(NewToken)["scopes"])[0])
Of = click.option("--database", type=Named(), metavar="DATABASE", help="Only this database.")


@click.group()
def tokens() -> None:
    """Create, list, rotate and revoke tokens. TOKEN is a name or an id. This needs a token with the scope `admin`.

    \b
    lutra tokens create --name dashboards --scope read --expires 90d
    lutra tokens list
    lutra tokens rotate dashboards --grace 1h
    """


@tokens.command()
@click.option("--name", required=True, help="The user or program that uses the token.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(SCOPES),
    help="A scope of the token; can be repeated.",
)
@click.option(
    "--database", type=Named(), metavar="DATABASE", help="Limit the token to this database. An agent's token needs one."
)
@click.option("--expires", type=within, help="The token expires after this time, such as 90d. [default: never]")
@AsJson
@asking
def create(
    client: Client, name: str, scopes: Any, database: str | None, expires: timedelta | None, as_json: bool
) -> None:
    """Create a token and print it. It is printed only once: the service keeps only its digest.

    \b
    lutra tokens create --name dashboards --scope read --expires 90d
    lutra tokens create --name assistant --scope propose --database shop
    """
    body: Any = {"name": name, "scopes": list(scopes), "expires_at": _moment(expires)}
    if database is None:
        made = client.tokens.create_global(**body)
    else:
        made = client.tokens.create(database_id(client, database), **body)
    _show_secret(made, as_json)


@tokens.command("list")
@Of
@click.option("--all", "everything", is_flag=True, help="Include revoked and expired tokens.")
@AsJson
@asking
def list_(client: Client, database: str | None, everything: bool, as_json: bool) -> None:
    """List tokens without their secrets, which are not stored.

    \b
    lutra tokens list --database shop
    """
    found = client.tokens.list_all() if database is None else client.tokens.list(database_id(client, database))
    now = datetime.now(UTC)
    kept = [t for t in found if everything or _lives(t, now)]
    if as_json:
        for token in kept:
            printed(token)
        return
    names = {d["id"]: d["name"] for d in client.databases.list()}
    rows = [
        (
            t["name"],
            t["id"],
            ",".join(t["scopes"]),
            names.get(t["database"] or "", t["database"] or ""),
            minute(t["created_at"]),
            minute(t["expires_at"]),
            minute(t["last_used_at"]),
            *([minute(t["revoked_at"])] if everything else []),
        )
        for t in kept
    ]
    header = ("TOKEN", "ID", "SCOPES", "DATABASE", "CREATED (UTC)", "EXPIRES", "LAST USED")
    echo_table((*header, "REVOKED") if everything else header, rows, "no token")


@tokens.command()
@click.argument("token")
@AsJson
@asking
def revoke(client: Client, token: str, as_json: bool) -> None:
    """Revoke a token, whatever it is bound to.

    \b
    lutra tokens revoke dashboards
    """
    gone = client.tokens.revoke_any(_token_id(client, token))
    if as_json:
        printed(gone)
    else:
        click.echo(f"{printable(gone['name'])} ({gone['id']}) is revoked")


@tokens.command()
@click.argument("token")
@click.option("--grace", type=within, default="0s", help="The old token stays valid for this time. [default: 0s]")
@click.option("--expires", type=within, help="The new token expires after this time. [default: as the old one]")
@AsJson
@asking
def rotate(client: Client, token: str, grace: timedelta, expires: timedelta | None, as_json: bool) -> None:
    """Replace TOKEN with a new token, and print it. It is printed only once.

    \b
    lutra tokens rotate dashboards --grace 1h
    """
    body: Any = {"grace_s": grace.total_seconds(), "expires_at": _moment(expires)}
    _show_secret(client.tokens.rotate_any(_token_id(client, token), **body), as_json)


@click.command()
@Of
@click.option("--action", help="Only this action, such as recommendation.approve.")
@click.option("--since", type=within, help="Only entries of this time, such as 7d.  [default: any time]")
@click.option("--limit", type=click.IntRange(1), help="[default: 50; with --since all]")
@AsJson
@asking
def audit(
    client: Client,
    database: str | None,
    action: str | None,
    since: timedelta | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List who did what, newest first. With --json each line has the values before and after.

    \b
    lutra audit --database shop --since 7d
    """
    wanted: Any = {"action": action, "since": None if since is None else ago(datetime.now(UTC), since)}
    found = (
        client.audit.list(**wanted)
        if database is None
        else client.audit.of_database(database_id(client, database), **wanted)
    )
    kept = list(islice(found, limit or (None if since is not None else NEWEST)))
    if as_json:
        for entry in kept:
            printed(entry)
        return
    names = {d["id"]: d["name"] for d in client.databases.list()}
    rows = [_entry(e, names) for e in kept]
    header = ("AT (UTC)", "ACTION", "TARGET", "DATABASE", "BY", "ADDRESS", "WHAT")
    echo_table(header, rows, "no entry")


def _entry(found: AuditAnswer, names: Mapping[str, str]) -> tuple[str, ...]:
    database = found["database"] or ""
    at = f"{found['at'].astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    what = _what(found["after"] or {})
    return (
        at,
        found["action"],
        found["target"],
        names.get(database, database),
        found["token_name"],
        found["address"],
        what,
    )


def _what(after: Mapping[str, Any]) -> str:
    """The settings that changed and why, as far as an entry tells."""
    changes = after.get("changes") or {}
    told = ", ".join(f"{name} {old} → {new}" for name, (old, new) in changes.items())
    return ": ".join(str(part) for part in (told, after.get("why") or after.get("message")) if part)


def _show_secret(made: NewTokenAnswer, as_json: bool) -> None:
    if as_json:
        printed(made)
    else:
        click.echo(made["token"])


def _token_id(client: Client, token: str) -> str:
    if is_id(token, "tok"):
        return token
    now = datetime.now(UTC)
    found = [t["id"] for t in client.tokens.list_all() if t["name"] == token and _lives(t, now)]
    if len(found) == 1:
        return found[0]
    many = f"{len(found)} valid tokens are named" if found else "there is no valid token"
    raise click.ClickException(f"{many} {printable(token)!r}: `lutra tokens list` shows the ids")


def _lives(found: TokenAnswer, now: datetime) -> bool:
    return found["revoked_at"] is None and (found["expires_at"] is None or found["expires_at"] > now)


def _moment(after: timedelta | None) -> datetime | None:
    return None if after is None else datetime.now(UTC) + after
