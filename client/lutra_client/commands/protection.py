"""`lutra guardrails`, `windows` and `events`: what protects a database, and what happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click
from lutra_models.errors import printable
from lutra_models.maintenance import ago, duration

from lutra_client.commands.terminal import (
    NONE,
    AsJson,
    Database,
    Databases,
    asking,
    database_id,
    echo_table,
    headed,
    minute,
    named_databases,
    printed,
    within,
)

if TYPE_CHECKING:
    from lutra_client.client import Client

OFF = "off"


@click.command()
@Databases
@click.argument("limits", nargs=-1, metavar="[GUARD=LIMIT …]")
@AsJson
@asking
def guardrails(client: Client, database: str | None, limits: tuple[str, ...], as_json: bool) -> None:
    """Show the limits that undo a change, or set the limits of some guards.

    LIMIT is a number, with the time for which it has to be crossed if that is to change, or `off`.

    \b
    lutra guardrails shop
    lutra guardrails shop p99=1.5 qps=0.8:60s disk=off
    """
    named = named_databases(client, database)
    for name, of in named.items():
        headed(name, named, as_json)
        _guardrails(client, of, limits, as_json)


def _guardrails(client: Client, of: str, limits: tuple[str, ...], as_json: bool) -> None:
    found: Any = client.protection.get_guardrails(of)
    if limits:
        rails: dict[str, Any] = {name: dict(rail) for name, rail in found["guardrails"].items()}
        for word in limits:
            _limit(rails, word)
        found = client.protection.set_guardrails(of, guardrails=rails)
    if as_json:
        printed(found)
        return
    firing = found.get("firing") or ()
    rows = [
        (
            name,
            f"{rail['limit']:g}",
            f"{rail['hold_s']:g} s",
            "firing" if name in firing else "on" if rail.get("enabled", True) else OFF,
            rail.get("origin") or "",
            rail.get("meaning") or "",
        )
        for name, rail in found["guardrails"].items()
    ]
    echo_table(("GUARD", "LIMIT", "HOLD", "STATE", "SET BY", "MEANING"), rows, "this database has no guards")


@click.command()
@Databases
@click.argument("wanted", nargs=-1, metavar="[WINDOW …]")
@AsJson
@asking
def windows(client: Client, database: str | None, wanted: tuple[str, ...], as_json: bool) -> None:
    """Show the weekly windows in which the server may be restarted, or replace them all.

    WINDOW is the days, the start, the length and the time zone (default: UTC) in one argument; `none` removes all.

    \b
    lutra windows shop
    lutra windows label:caches "sat,sun 02:00 90m Europe/Berlin"
    """
    made: Any = [] if wanted == (NONE,) else [_window(text) for text in wanted]
    named = named_databases(client, database)
    for name, of in named.items():
        headed(name, named, as_json)
        _windows(client, of, made if wanted else None, as_json)


def _windows(client: Client, of: str, made: Any, as_json: bool) -> None:
    """`made` replaces all of its windows; None only shows them."""
    if made is not None:
        found = client.protection.set_maintenance_windows(of, windows=made)
    else:
        found = client.protection.get_maintenance_windows(of)
    if as_json:
        printed(found)
        return
    rows = [(",".join(w["weekdays"]), w["start"], f"{w['minutes']}m", w.get("zone", "UTC")) for w in found["windows"]]
    echo_table(("DAYS", "START", "LENGTH", "ZONE"), rows, "no window: nothing is restarted in mode restart_in_window")
    following = found.get("next")
    if found.get("open_until"):
        click.echo(f"open until {minute(found['open_until'])} (UTC)")
    elif following:
        click.echo(f"the next one opens at {minute(following['start'])} (UTC)")


@click.command()
@Database
@click.option("--since", default="7d", show_default=True, type=within, help="Go back this far, such as 30d.")
@AsJson
@asking
def events(client: Client, database: str | None, since: timedelta, as_json: bool) -> None:
    """List the guards that fired, with the figures, newest first.

    \b
    lutra events shop --since 30d
    """
    after = ago(datetime.now(UTC), since)
    found = list(client.protection.list_events(database_id(client, database), since=after))
    if as_json:
        for event in found:
            printed(event)
        return
    rows = [
        (
            minute(e["at"]),
            e["guard"],
            e["metric"],
            f"{e['value']:,.4g}",
            f"{e['bound']:,.4g}",
            f"{e['held_s']:g} s",
            e["recommendation"] or "",
        )
        for e in found
    ]
    echo_table(
        ("FIRED (UTC)", "GUARD", "METRIC", "VALUE", "BOUND", "FOR", "UNDID"), rows, "no guard has fired in this time"
    )


def _limit(rails: dict[str, Any], word: str) -> None:
    """Set one guard of `rails`."""
    name, _, value = word.partition("=")
    if name not in rails or not value:
        raise click.UsageError(f"{printable(word)} is not GUARD=LIMIT; the guards are {', '.join(rails)}")
    rail = rails[name]
    rail["origin"] = "service"
    if value == OFF:
        rail["enabled"] = False
        return
    limit, colon, hold = value.partition(":")
    try:
        rail.update(limit=float(limit), enabled=True)
        if colon:
            rail["hold_s"] = duration(hold).total_seconds()
    except ValueError as error:
        raise click.UsageError(f"{printable(word)}: {error}") from error


def _window(text: str) -> dict[str, Any]:
    days, *rest = text.split()
    if len(rest) not in (2, 3):
        raise click.UsageError(
            f'{printable(text)} is not a window: write days, start and length, such as "sat,sun 02:00 90m"'
        )
    try:
        minutes = int(duration(rest[1]).total_seconds() // 60)
    except ValueError as error:
        raise click.UsageError(f"{printable(text)}: {error}") from error
    return {"weekdays": days.split(","), "start": rest[0], "minutes": minutes, "zone": [*rest, "UTC"][2]}
