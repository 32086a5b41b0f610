"""`lutra sessions …`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from lutra_models.errors import printable

from lutra_client.commands import shown
from lutra_client.commands.terminal import (
    AsJson,
    Database,
    Named,
    asking,
    database_id,
    echo_table,
    is_id,
    minute,
    printed,
)

if TYPE_CHECKING:
    from lutra_client.client import Client
    from lutra_client.schemas import SessionAnswer

Session = click.argument("session", type=Named(), metavar="[DATABASE|SESSION]", required=False)
OPEN = ("running", "settled", "paused")
LISTED = 20


@click.group()
def sessions() -> None:
    """Open, list, stop and resume tuning sessions.

    \b
    lutra sessions open shop --metric p99_ms
    lutra sessions list shop
    lutra sessions stop shop
    """


@sessions.command("open")
@Database
@click.option("--metric", default="p99_ms", show_default=True, help="The metric to improve.")
@click.option(
    "--mode",
    type=click.Choice(["reload_only", "restart_in_window"]),
    default="reload_only",
    show_default=True,
    help="The most that may be done to activate a change.",
)
@click.option("--changes", type=click.IntRange(1), help="Change at most this many settings.  [default: any]")
@click.option("--trials", type=click.IntRange(1, 1000), default=20, show_default=True, help="The most trials.")
@AsJson
@asking
def open_(
    client: Client, database: str | None, metric: str, mode: Any, changes: int | None, trials: int, as_json: bool
) -> None:
    """Open a session on a live database. Each recommendation waits for your decision.

    \b
    lutra sessions open shop
    lutra sessions open shop --metric qps --changes 2
    """
    _show(opened(client, database_id(client, database), metric, mode, changes, trials), as_json)


def opened(
    client: Client,
    of: str,
    metric: str = "p99_ms",
    mode: Any = "reload_only",
    changes: int | None = None,
    trials: int = 20,
) -> SessionAnswer:
    """A new session on a live database, whose recommendations wait for a person's decision."""
    goal: Any = "minimize" if metric.endswith("_ms") else "maximize"
    return client.sessions.open(
        of,
        objective={"metric": metric, "goal": goal},
        mode=mode,
        approval="manual",
        max_changes=changes,
        max_trials=trials,
    )


@sessions.command("list")
@Database
@AsJson
@asking
def list_(client: Client, database: str | None, as_json: bool) -> None:
    """List the sessions of a database, the newest first.

    \b
    lutra sessions list shop
    """
    found = list(islice(client.sessions.list(database_id(client, database), limit=LISTED), LISTED))
    if as_json:
        for session in found:
            printed(session)
        return
    rows = [
        (
            s["id"],
            s["state"],
            f"{s['objective']['goal']} {s['objective']['metric']}",
            s["effective_mode"],
            f"{s['trials_done']} of {s['max_trials']}",
            minute(s["created_at"]),
        )
        for s in found
    ]
    empty = "no session yet: open one with `lutra sessions open`"
    echo_table(("SESSION", "STATE", "AIM", "MODE", "TRIALS", "OPENED (UTC)"), rows, empty)


@sessions.command()
@Session
@AsJson
@asking
def resume(client: Client, session: str | None, as_json: bool) -> None:
    """Continue the paused session.

    \b
    lutra sessions resume shop
    """
    _show(client.sessions.resume(open_session(client, session)), as_json)


@sessions.command()
@Session
@AsJson
@asking
def stop(client: Client, session: str | None, as_json: bool) -> None:
    """End the open session. Its changes stay; `lutra rollback` restores earlier settings.

    \b
    lutra sessions stop shop
    """
    _show(client.sessions.stop(open_session(client, session)), as_json)


def open_session(client: Client, word: str | None) -> str:
    """The id `word`, or that of the open session of the database of this name. Raises ClickException."""
    if word is not None and is_id(word, "ts"):
        return word
    newest = client.sessions.list(database_id(client, word), limit=1).first()
    if newest is None or newest["state"] not in OPEN:
        of = "" if word is None else f" {printable(word)}"
        raise click.ClickException(f"no session is open: open one with `lutra sessions open{of}`")
    return newest["id"]


def _show(session: SessionAnswer, as_json: bool) -> None:
    if as_json:
        printed(session)
    else:
        click.echo(shown.session(session))
