"""`lutra status`, `history` and `watch`: what is going on, and what was."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice
from time import sleep
from typing import TYPE_CHECKING, Any

import click
from lutra_models.errors import printable
from lutra_models.maintenance import ago

from lutra_client import contexts
from lutra_client.commands import changes, shown
from lutra_client.commands.decide import show_recommendation
from lutra_client.commands.sessions import OPEN, open_session
from lutra_client.commands.signs import alive, stoppable
from lutra_client.commands.terminal import (
    AsJson,
    Database,
    Named,
    asking,
    database_id,
    echo_table,
    is_id,
    printed,
    span,
    within,
)

if TYPE_CHECKING:
    from lutra_client.client import Client
    from lutra_client.schemas import DatabaseAnswer, RecommendationAnswer, SessionAnswer

SHOWN = 3
"""Sessions of a database, the newest ones."""
LINES = 12
"""The number of the newest events shown."""
EVERY_S = 2.0
ENDED = ("confirmed", "reverted", "rejected", "refused", "failed", "expired", "unneeded")


@click.command()
@Database
@click.option("--since", default="1d", show_default=True, type=within, help="Go back this far, such as 7d.")
@AsJson
@asking
def status(client: Client, database: str | None, since: timedelta, as_json: bool) -> None:
    """Show the service and its databases, or one database.

    With DATABASE: recent changes, the newest sessions, and the recommendation that waits for a decision. With --json
    and without DATABASE, each line is a database.

    \b
    lutra status
    lutra status shop --since 7d
    """
    if database is None:
        _of_service(client, as_json)
    else:
        _of_database(client, database_id(client, database), since, as_json)


@click.command()
@Database
@click.option("--since", default="7d", show_default=True, type=within, help="Go back this far, such as 30d.")
@AsJson
@asking
def history(client: Client, database: str | None, since: timedelta, as_json: bool) -> None:
    """List the changes that were applied, confirmed, undone and refused, newest first; without DATABASE, of every
    database.

    \b
    lutra history shop --since 30d
    """
    known = {d["id"]: d["name"] for d in client.databases.list()}
    wanted = known if database is None else [database_id(client, database)]
    after = ago(datetime.now(UTC), since)
    found = [h for id_ in wanted for h in changes.happenings(client, id_, known.get(id_, id_), after)]
    found.sort(key=lambda h: h.at, reverse=True)
    for line in (json.dumps(h.document) for h in found) if as_json else changes.lines(found):
        click.echo(line)


@click.command()
@click.argument("what", type=Named(), metavar="[DATABASE|RECOMMENDATION|SESSION]", required=False)
@AsJson
@asking
def watch(client: Client, what: str | None, as_json: bool) -> None:
    """Follow a recommendation or a session live until it ends; of a DATABASE, its open session.

    Ctrl-C ends only the watching.

    \b
    lutra watch shop
    lutra watch rec_…
    """
    with stoppable("stopped watching; what was watched goes on, and the same command shows it again"):
        if what is not None and is_id(what, "rec"):
            ended = _follow(lambda: client.recommendations.get(what), _recommendation_in_brief, _has_ended, as_json)
            if not as_json:
                show_recommendation(client, ended)
            return
        id_ = open_session(client, what)
        _follow(lambda: client.sessions.get(id_), _session_in_brief, lambda s: s["state"] not in OPEN, as_json)


def _of_service(client: Client, as_json: bool) -> None:
    found = list(client.databases.list())
    if as_json:
        for database in found:
            printed(database)
        return
    version, name = client.health.check_alive().get("version", "?"), contexts.current().name
    click.echo(printable(f"service {version} at {client.url} (context {name})"))
    click.echo()
    now = datetime.now(UTC)
    rows = [_row(d, client.sessions.list(d["id"], limit=1).first(), now) for d in found]
    echo_table(
        ("DATABASE", "ENGINE", "AGENT", "LAST REPORT", "SESSION"), rows, "no database yet: `lutra add URL` adds one"
    )


def _row(found: DatabaseAnswer, session: SessionAnswer | None, now: datetime) -> tuple[str, ...]:
    agent = found["agent"]
    mode = "" if agent is None else "paused" if agent.get("paused") else agent.get("mode", "")
    engine = " ".join(filter(None, (found["engine"], found["engine_version"])))
    tuning = "" if session is None else f"{session['state']}, {session['trials_done']} of {session['max_trials']}"
    return found["name"], engine, mode, span(found["last_report_at"], now), tuning


def _of_database(client: Client, of: str, since: timedelta, as_json: bool) -> None:
    found = list(islice(client.sessions.list(of, limit=SHOWN), SHOWN))
    waiting = [s[name] for s in found if s["state"] in OPEN for name in ("current", "for_maintenance_window")]
    asked = [client.recommendations.get(id_) for id_ in waiting if id_ is not None]
    if as_json:
        printed({"database": client.databases.get(of), "sessions": found, "recommendations": asked})
        return
    _happened(client, of, since)
    _not_active(client, of)
    for session in found:
        click.echo(shown.session(session))
    for recommendation in asked:
        click.echo()
        show_recommendation(client, recommendation)
    if not found:
        click.echo("no session yet: open one with `lutra sessions open`")


def _happened(client: Client, database: str, since: timedelta) -> None:
    now = datetime.now(UTC)
    after = ago(now, since)
    found = changes.happenings(client, database, database, after)
    if found:
        click.echo(f"since {after:%Y-%m-%d %H:%M} (UTC):")
    for happening in found[:LINES]:
        click.echo(f"  {changes.sentence(happening, now)}")
    if len(found) > LINES:
        click.echo(f"  and {len(found) - LINES} more: `lutra history` lists them")
    if found:
        click.echo()


def _not_active(client: Client, database: str) -> None:
    """The settings whose file says something else than the server; nothing before its agent's first report."""
    from lutra_client.errors import Conflict

    try:
        found = [s for s in client.databases.list_settings(database) if s["not_active"]]
    except Conflict:
        return
    for setting in found:
        click.echo(printable(f"{setting['setting']} is {setting['text']}; {setting['not_active']}"))
    if found:
        click.echo()


def _follow(look: Callable[[], Any], brief: Callable[[Any], str], ended: Callable[[Any], bool], as_json: bool) -> Any:
    """A line for each change of what `brief` says, until it has ended."""
    said = ""
    while True:
        found = look()
        if brief(found) != said:
            said = brief(found)
            if as_json:
                printed(found)
            else:
                click.echo(f"{datetime.now(UTC):%H:%M:%S} {printable(said)}")
        if ended(found):
            return found
        with alive(f"watching {printable(found['id'])}"):
            while not ended(found) and brief(found) == said:
                sleep(EVERY_S)
                found = look()


def _recommendation_in_brief(found: RecommendationAnswer) -> str:
    why = found["waits"] or found["error"] or ""
    return f"{found['id']} {found['state']}" + (f": {why}" if why else "")


def _has_ended(found: RecommendationAnswer) -> bool:
    return found["state"] in ENDED


def _session_in_brief(found: SessionAnswer) -> str:
    return f"{found['id']} {found['state']}, {found['trials_done']} of {found['max_trials']} trials: {found['message']}"
