"""`lutra token …` and `lutra audit`: permissions, and the record of actions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from lutra_models import maintenance
from lutra_models.errors import printable

if TYPE_CHECKING:
    from lutra_service.db.schema.records import AuditEntry, Token
    from lutra_service.db.store import UnitOfWork

PAGE = 500


class _Row(Protocol):
    @property
    def id(self) -> str: ...


Listed = TypeVar("Listed", bound=_Row)


def duration(text: str) -> timedelta:
    try:
        return maintenance.duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.group()
def token() -> None:
    """Create, list, rotate and revoke bearer tokens."""


@token.command()
@click.option("--name", required=True, help="The user or program that uses the token.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(["agent", "read", "models", "propose", "operate", "admin"]),
)
@click.option("--database", help="Limit the token to this database (db_…). An agent's token needs one.")
@click.option("--expires", type=duration, help="The token expires after this time, such as 90d. [default: never]")
def create(name: str, scopes: tuple[str, ...], database: str | None, expires: timedelta | None) -> None:
    """Create a token and print it. It is printed only once: the service keeps only its digest."""
    from lutra_service.app.access.tokens import create_token
    from lutra_service.commands.opening import opened

    with opened() as store:
        _, secret = store.write(lambda unit: create_token(unit, name, scopes, database, _moment(unit, expires)))
    click.echo(secret)


@token.command("list")
@click.option("--database", help="Only tokens of this database (db_…).")
@click.option("--all", "everything", is_flag=True, help="Include revoked and expired tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def list_tokens(database: str | None, everything: bool, as_json: bool) -> None:
    """List tokens without their secrets, which are not stored."""
    from lutra_service.commands.opening import opened

    with opened() as store:
        now = store.now()
        found = _pages(lambda after: store.read(lambda unit: unit.tokens.listed(database, PAGE, after)))
        shown = [_token(t) for t in found if everything or _lives(t, now)]
    _print(shown, as_json)


@token.command()
@click.argument("token_id")
def revoke(token_id: str) -> None:
    """Revoke a token (tok_…), whatever it is bound to."""
    from lutra_service.app.access.tokens import revoke_token
    from lutra_service.commands.opening import opened

    with opened() as store:
        store.write(lambda unit: revoke_token(unit, token_id))
    click.echo(f"{token_id} is revoked")


@token.command()
@click.argument("token_id")
@click.option("--grace", type=duration, default="0s", help="The old token stays valid for this time. [default: 0s]")
@click.option("--expires", type=duration, help="The new token expires after this time. [default: as the old one]")
def rotate(token_id: str, grace: timedelta, expires: timedelta | None) -> None:
    """Replace TOKEN_ID (tok_…) with a new token, and print it. It is printed only once."""
    from lutra_service.app.access.tokens import rotate_token
    from lutra_service.commands.opening import opened

    with opened() as store:
        _, secret = store.write(lambda unit: rotate_token(unit, token_id, grace, _moment(unit, expires)))
    click.echo(secret)


@click.command()
@click.option("--database", help="Only entries of this database (db_…).")
@click.option("--action", help="Only this action, such as recommendation.approve.")
@click.option("--since", type=duration, help="Only entries of this time, such as 7d.  [default: any time]")
@click.option("--limit", type=click.IntRange(1), help="[default: 50; with --since all]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line, with before and after.")
def audit(database: str | None, action: str | None, since: timedelta | None, limit: int | None, as_json: bool) -> None:
    """List who did what, newest first."""
    from lutra_service.commands.opening import opened

    most = limit or (None if since is not None else 50)
    with opened() as store:
        after = None if since is None else maintenance.ago(store.now(), since)
        pages = _pages(lambda last: store.read(lambda unit: unit.audit.listed(PAGE, last, database, action, after)))
        shown = [_entry(e, whole=as_json) for e in islice(pages, most)]
    _print(shown, as_json)


def _moment(unit: UnitOfWork, after: timedelta | None) -> datetime | None:
    return None if after is None else unit.now + after


def _pages(page: Callable[[str | None], Sequence[Listed]]) -> Iterator[Listed]:
    after = None
    while found := page(after):
        yield from found
        after = found[-1].id


def _lives(found: Token, now: datetime) -> bool:
    return found.revoked_at is None and (found.expires_at is None or found.expires_at > now)


def _token(found: Token) -> dict[str, Any]:
    names = ("id", "name", "scopes", "database_id", "created_at", "expires_at", "last_used_at", "revoked_at")
    return {name.removesuffix("_id"): getattr(found, name) for name in names}


def _entry(found: AuditEntry, whole: bool) -> dict[str, Any]:
    names = ("at", "action", "target", "database_id", "token_id", "token_name", "address", "request_id")
    told = {name: getattr(found, name) for name in names}
    if whole:
        return {**told, "before": found.before, "after": found.after}
    return {**told, "what": _what(found.after or {})}


def _what(after: Mapping[str, Any]) -> str:
    """The settings that changed and why, as far as an entry tells."""
    from lutra_service.app.access.audit import in_words

    told = [in_words(after.get("changes") or {}), after.get("why") or after.get("message")]
    return ": ".join(part for part in told if part)


def _print(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    """A table as wide as its cells under a header, the last column as long as it is."""
    if as_json:
        for row in rows:
            click.echo(json.dumps(row, default=str))
    elif rows:
        table = [[name.upper() for name in rows[0]], *([_text(v) for v in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for cells in table:
            click.echo("  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip())


def _text(value: Any) -> str:
    """A name may hold what a terminal would take for a command of its own."""
    if value is None or value == "":
        return "-"
    text = ",".join(value) if isinstance(value, list) else str(value)
    return printable(text)
