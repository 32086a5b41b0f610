"""`lutra-advice`: a DBA's view and decisions on a terminal, over the REST interface."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from statistics import median
from typing import Any

import click
from lutra_models.errors import printable
from lutra_models.maintenance import ago

from lutra_client.client import Client
from lutra_client.commands import changes, findings, shown
from lutra_client.commands.terminal import Commands, Database, asking, database_id, within
from lutra_client.errors import Conflict
from lutra_client.schemas import RecommendationAnswer
from lutra_client.waiting import LONGEST_WAIT_S

OPEN = ("running", "settled", "paused")
SHOWN = 3
"""Sessions of a database, the newest ones."""
LINES = 12
"""The number of the newest events shown."""
WINDOWS = 12
"""The newest windows, whose medians are shown beside the prediction."""
QUIET_S = 3.0
"""After this time a waiting person gets a message."""
TO_COME = ("observing", "computing", "approved", "applied")
PATIENCE_S = 3600.0


@click.group(cls=Commands)
@click.version_option(package_name="lutra-client")
def main() -> None:
    """Read Lutra's recommendations for a database, and decide.

    LUTRA_URL is the service's address (default: this machine), LUTRA_TOKEN a token with the scope `operate`.
    LUTRA_CA_FILE names the certificate of your own authority. DATABASE is a name or an id, and is optional if the
    token can see only one database.

    \b
    lutra-advice open shop --metric p99_ms
    lutra-advice next shop
    lutra-advice approve rec_… work_mem max_wal_size
    lutra-advice status shop
    lutra-advice changes shop --since 7d
    lutra-advice findings shop
    """


@main.command("open")
@Database
@click.option("--metric", default="p99_ms", show_default=True, help="The metric to improve.")
@click.option(
    "--mode", type=click.Choice(["reload_only", "restart_in_window"]), default="reload_only", show_default=True
)
@click.option("--changes", type=click.IntRange(1), help="Change at most this many settings.  [default: any]")
@click.option("--trials", type=click.IntRange(1, 1000), default=20, show_default=True)
@asking
def open_(client: Client, database: str | None, metric: str, mode: Any, changes: int | None, trials: int) -> None:
    """Open a session on a live database. Each recommendation waits for your decision."""
    goal: Any = "minimize" if metric.endswith("_ms") else "maximize"
    made = client.sessions.open(
        database_id(client, database),
        objective={"metric": metric, "goal": goal},
        mode=mode,
        approval="manual",
        max_changes=changes,
        max_trials=trials,
    )
    click.echo(shown.session(made))


@main.command()
@Database
@click.option("--since", default="1d", show_default=True, type=within, help="Go back this far, such as 7d.")
@asking
def status(client: Client, database: str | None, since: timedelta) -> None:
    """Show recent changes, the newest sessions, and the recommendation that waits for a decision."""
    of = database_id(client, database)
    _happened(client, of, since)
    _not_active(client, of)
    found = list(islice(client.sessions.list(of, limit=SHOWN), SHOWN))
    for session in found:
        click.echo(shown.session(session))
    waiting = [s[name] for s in found if s["state"] in OPEN for name in ("current", "for_maintenance_window")]
    for id_ in waiting:
        if id_ is not None:
            click.echo()
            _show(client, client.recommendations.get(id_))
    if not found:
        click.echo("no session yet: open one with `lutra-advice open`")


@main.command("changes")
@Database
@click.option("--since", default="7d", show_default=True, type=within, help="Go back this far, such as 7d.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@asking
def changes_(client: Client, database: str | None, since: timedelta, as_json: bool) -> None:
    """List the changes that were applied, confirmed and undone, newest first; without DATABASE, of every database."""
    known = {d["id"]: d["name"] for d in client.databases.list()}
    wanted = known if database is None else [database_id(client, database)]
    after = ago(datetime.now(UTC), since)
    found = [h for id_ in wanted for h in changes.happenings(client, id_, known.get(id_, id_), after)]
    found.sort(key=lambda h: h.at, reverse=True)
    for line in (json.dumps(h.document) for h in found) if as_json else changes.table(found):
        click.echo(line)


@main.command("next")
@Database
@asking
def next_(client: Client, database: str | None) -> None:
    """Ask for the next recommendation, wait for it, and show it."""
    of = database_id(client, database)
    asked = client.recommendations.ask(of, wait_s=QUIET_S)
    if asked["state"] in TO_COME and not asked["waits"]:
        click.echo(
            f"{_named(asked)} is {printable(asked['state'])}; waiting up to a minute for the next one …", err=True
        )
        asked = client.recommendations.ask(of, wait_s=LONGEST_WAIT_S)
    if asked["state"] == "computing":
        asked = client.recommendations.wait(asked["id"])
    _show(client, asked)
    if asked["state"] == "observing" and asked["session"] is not None:
        click.echo(shown.session(client.sessions.get(asked["session"])))


@main.command()
@click.argument("recommendation")
@asking
def show(client: Client, recommendation: str) -> None:
    """Show a recommendation: its changes, the reasons for and against them, the prediction and the outcome."""
    _show(client, client.recommendations.get(recommendation))


@main.command()
@click.argument("recommendation")
@click.argument("settings", nargs=-1)
@click.option("--because", help="With SETTINGS: the reason for leaving out the others.")
@click.option("--wait", is_flag=True, help="Wait until it is measured, and show its effect.")
@asking
def approve(client: Client, recommendation: str, settings: tuple[str, ...], because: str | None, wait: bool) -> None:
    """Approve a recommendation, or only its changes of these SETTINGS. The agent then applies it."""
    part: Any = {"settings": list(settings), "reason": because} if settings else {}
    made = client.recommendations.approve(recommendation, **part)
    if wait:
        click.echo(f"{_named(made)} is approved{_why(made)}; waiting until it is measured …", err=True)
        try:
            made = client.recommendations.wait(made["id"], until="measured", timeout_s=PATIENCE_S)
        except KeyboardInterrupt:
            click.echo(f"\n{_named(made)} is still approved; to undo it: `lutra-advice undo {_named(made)}`", err=True)
            raise
    _show(client, made)


@main.command()
@click.argument("recommendation")
@click.option("--because", help="The reason. Stored, and shown when Lutra declines to propose this change again.")
@asking
def reject(client: Client, recommendation: str, because: str | None) -> None:
    """Reject a recommendation. It is not proposed again until the circumstances change."""
    _show(client, client.recommendations.reject(recommendation, reason=because))


@main.command()
@click.argument("recommendation")
@click.option("--because", help="The reason. Stored, and shown when Lutra declines to propose this change again.")
@asking
def undo(client: Client, recommendation: str, because: str | None) -> None:
    """Restore the settings from before a recommendation. Its session pauses; `lutra-advice resume` continues it."""
    _show(client, client.recommendations.roll_back(recommendation, reason=because))


@main.command()
@Database
@asking
def resume(client: Client, database: str | None) -> None:
    """Continue the paused session."""
    click.echo(shown.session(client.sessions.resume(_open_one(client, database))))


@main.command()
@Database
@asking
def stop(client: Client, database: str | None) -> None:
    """End the open session. Its changes stay; `lutra-advice undo` restores earlier settings."""
    click.echo(shown.session(client.sessions.stop(_open_one(client, database))))


@main.command()
@Database
@asking
def retire(client: Client, database: str | None) -> None:
    """Hide a database that is out of use, and refuse its agent's reports. Stored data are kept."""
    click.echo(shown.database(client.databases.retire(database_id(client, database))))


@main.command()
@Database
@asking
def unretire(client: Client, database: str | None) -> None:
    """Put a retired database back into use. Its agent's reports are stored again."""
    click.echo(shown.database(client.databases.unretire(database_id(client, database, retired=True))))


@main.command()
@Database
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@asking
def delete(client: Client, database: str | None, yes: bool) -> None:
    """Permanently delete a retired database and all its stored data. This needs a token with the scope `admin`."""
    found = client.databases.get(database_id(client, database, retired=True))
    if not yes:
        click.confirm(
            f"Delete {printable(found['name'])} ({printable(found['id'])}) and all its stored data?", abort=True
        )
    click.echo(f"{shown.database(client.databases.delete(found['id']))}: deleted")


def _happened(client: Client, database: str, since: timedelta) -> None:
    now = datetime.now(UTC)
    after = ago(now, since)
    found = changes.happenings(client, database, database, after)
    if found:
        click.echo(f"since {after:%Y-%m-%d %H:%M} (UTC):")
    for happening in found[:LINES]:
        click.echo(f"  {changes.sentence(happening, now)}")
    if len(found) > LINES:
        click.echo(f"  and {len(found) - LINES} more: `lutra-advice changes` lists them")
    if found:
        click.echo()


def _not_active(client: Client, database: str) -> None:
    """The settings whose file says something else than the server; nothing before its agent's first report."""
    try:
        found = [s for s in client.databases.list_settings(database) if s["not_active"]]
    except Conflict:
        return
    for setting in found:
        click.echo(printable(f"{setting['setting']} is {setting['text']}; {setting['not_active']}"))
    if found:
        click.echo()


def _open_one(client: Client, database: str | None) -> str:
    newest = client.sessions.list(database_id(client, database), limit=1).first()
    if newest is None or newest["state"] not in OPEN:
        raise click.ClickException("no session is open: open one with `lutra-advice open`")
    return newest["id"]


def _named(found: RecommendationAnswer) -> str:
    return printable(found["id"])


def _why(made: RecommendationAnswer) -> str:
    return f", and waits: {printable(made['waits'])}" if made["waits"] else ""


def _show(client: Client, found: RecommendationAnswer) -> None:
    click.echo(shown.recommendation(found, _measured_now(client, found) if found["state"] == "proposed" else None))
    if found["state"] == "proposed":
        click.echo(f"\nlutra-advice approve {_named(found)} [SETTING …], or lutra-advice reject {_named(found)}")


def _measured_now(client: Client, found: RecommendationAnswer) -> dict[str, float]:
    """By metric that is predicted, the median of the newest windows that have it."""
    wanted = list(found["predictions"] or ())
    if not wanted:
        return {}
    newest = list(islice(client.databases.list_windows(found["database"], limit=WINDOWS, metric=wanted), WINDOWS))
    read = {name: [w["metrics"][name] for w in newest if name in w["metrics"]] for name in wanted}
    return {name: median(values) for name, values in read.items() if values}


for command in findings.COMMANDS:
    main.add_command(command)


if __name__ == "__main__":
    main()
