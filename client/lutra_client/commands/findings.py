"""`lutra findings` and `lutra risks`: what is wrong with a database, and which risks somebody accepts."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from lutra_models.errors import LutraError, printable
from lutra_models.symptoms import listed
from lutra_models.symptoms.listed import FAIL_ON

from lutra_client.commands import shown
from lutra_client.commands.terminal import AsJson, Database, asking, database_id, printed, within
from lutra_client.moments import text

if TYPE_CHECKING:
    from lutra_client.client import Client
    from lutra_client.schemas import AcceptedAnswer


class NotJudged(click.ClickException):
    """The look failed, which a script must not mistake for a clean result."""

    exit_code = listed.NOT_JUDGED


@click.command()
@Database
@click.option(
    "--minutes",
    type=click.IntRange(1, 1440),
    default=60,
    show_default=True,
    help="The time span to examine, up to now.",
)
@click.option("--gone", is_flag=True, help="Findings that are gone, newest first.")
@AsJson
@click.option("--junit", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Write a JUnit report.")
@click.option(
    "--fail-on", default=FAIL_ON, show_default=True, metavar="KIND|STRENGTH", help="The threshold for exit status 1."
)
@asking
def findings(
    client: Client, database: str | None, minutes: int, gone: bool, as_json: bool, junit: Path | None, fail_on: str
) -> None:
    """List what is wrong, the most harmful first, since when, and what would cure it; accepted risks come last.

    \b
    lutra findings shop
    lutra findings shop --fail-on danger --junit report.xml

    The exit status is 1 if there is a finding of KIND or of a worse kind (outage, danger, fault, elsewhere, enough,
    note), or one of at least STRENGTH (0 to 1). It is 2 if something of that kind, or everything, could not be
    judged. Otherwise it is 0. Accepted risks do not count.
    """
    try:
        listed.fail_on(fail_on)
        of = database_id(client, database)
        status = _print_gone(client, of, as_json) if gone else _print(client, of, minutes, as_json, junit, fail_on)
    except (LutraError, ValueError, OSError, click.ClickException) as error:
        words = error.message if isinstance(error, click.ClickException) else printable(str(error))
        raise NotJudged(f"nothing could be judged: {words}") from error
    sys.exit(status)


@click.group()
def risks() -> None:
    """Accept findings as risks, list and withdraw them. FINDING is the finding's name.

    \b
    lutra risks accept sorts_spill shop --because "reports at night" --until 90d
    lutra risks list shop
    """


@risks.command()
@click.argument("finding")
@Database
@click.option("--because", required=True, help="The reason, shown beside the finding.")
@click.option("--until", required=True, metavar="DAY|TIME", help="The end: 2027-03-31, or 90d for 90 days from now.")
@AsJson
@asking
def accept(client: Client, finding: str, database: str | None, because: str, until: str, as_json: bool) -> None:
    """Accept the risk of a finding, with a reason and an end. It then comes last and does not fail a check.

    \b
    lutra risks accept sorts_spill shop --because "reports at night" --until 90d
    """
    made = client.databases.accept_symptom(database_id(client, database), finding, because=because, until=_until(until))
    _show(made, as_json)


@risks.command()
@click.argument("finding")
@Database
@AsJson
@asking
def withdraw(client: Client, finding: str, database: str | None, as_json: bool) -> None:
    """Withdraw an acceptance: the finding counts again.

    \b
    lutra risks withdraw sorts_spill shop
    """
    gone = client.databases.withdraw_accepted_symptom(database_id(client, database), finding)
    _show(gone, as_json, ": withdrawn")


@risks.command("list")
@Database
@AsJson
@asking
def list_(client: Client, database: str | None, as_json: bool) -> None:
    """List the accepted findings, with reason and end.

    \b
    lutra risks list shop
    """
    found = list(client.databases.list_accepted_symptoms(database_id(client, database)))
    for accepted in found:
        _show(accepted, as_json)
    if not found and not as_json:
        click.echo("no finding is accepted")


def _show(found: AcceptedAnswer, as_json: bool, done: str = "") -> None:
    if as_json:
        printed(found)
    else:
        click.echo(f"{shown.accepted(found)}{done}")


def _print_gone(client: Client, database: str, as_json: bool) -> int:
    for found in client.databases.list_symptom_history(database, gone=True):
        if as_json:
            printed(found)
        else:
            click.echo(shown.episode(found))
    return listed.CLEAN


def _print(client: Client, database: str, minutes: int, as_json: bool, junit: Path | None, threshold: str) -> int:
    """The exit status."""
    document: Any = text(client.databases.list_symptoms(database, minutes=minutes))
    if junit is not None:
        junit.write_text(listed.junit(document, threshold), encoding="utf-8")
    click.echo(json.dumps(document, indent=1) if as_json else shown.findings(document))
    return listed.status(document, threshold)


def _until(word: str) -> datetime:
    """A day, which is its first moment in UTC, a moment, or a time from now on."""
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        return datetime.now(UTC) + within(word)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
