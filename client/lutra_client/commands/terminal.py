"""Shared parts of the commands of `lutra-advice`: a client, a database by its name, and refusals in the service's
words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta
from difflib import get_close_matches
from functools import wraps
from typing import Any

import click
from lutra_models.errors import LutraError, printable
from lutra_models.maintenance import duration

from lutra_client.client import Client
from lutra_client.errors import Unreachable

NEAR = 5
"""The most names in a message."""

Database = click.argument("database", required=False)


def within(text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


class Commands(click.Group):
    """A refusal of the service ends the command with the service's own words, without a traceback."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except Unreachable as error:
            raise click.ClickException(f"{printable(str(error))}: {error.way_out}") from error
        except (LutraError, ValueError) as error:  # an id that is empty, a token that is none
            raise click.ClickException(printable(str(error))) from error


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with a client of the service as its first argument."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        with Client.from_environment() as client:
            command(client, *arguments, **options)

    return run


def database_id(client: Client, database: str | None, retired: bool = False) -> str:
    if database is not None and database.startswith("db_"):
        return database
    known = {d["name"]: d["id"] for d in client.databases.list(retired=retired)}
    if database is None and len(known) == 1:
        return next(iter(known.values()))
    if database in known:
        return known[database]
    kind = "retired database" if retired else "database"
    wanted = f"name a {kind}" if database is None else f"there is no {kind} {printable(database)!r}"
    raise click.ClickException(f"{wanted}: {_near(database or '', known)}")


def _near(name: str, known: Collection[str]) -> str:
    """The names that somebody may have meant, and how many there are."""
    if not known:
        return "this token sees none"
    if len(known) <= NEAR:
        return f"this token sees {printable(', '.join(sorted(known)))}"
    alike = {n.lower(): n for n in sorted(known)}
    within = [n for n in alike if name and name.lower() in n]
    near = list(dict.fromkeys([*get_close_matches(name.lower(), alike, n=NEAR), *within]))[:NEAR]
    told = f"did you mean {printable(', '.join(alike[n] for n in near))}? " if near else ""
    return f"{told}This token sees {len(known)} databases"
