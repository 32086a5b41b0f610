"""`lutra findings` and `lutra risks`: what is wrong with a database, and which risks somebody accepts."""

from __future__ import annotations

import json
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from lutra_models.errors import LutraError, printable
from lutra_models.symptoms import listed
from lutra_models.symptoms.listed import FAIL_ON

from lutra_client.commands import shown
from lutra_client.commands.terminal import (
    AsJson,
    Database,
    Databases,
    asking,
    database_id,
    echo_table,
    named_databases,
    printed,
    within,
)
from lutra_client.errors import Conflict
from lutra_client.moments import text

if TYPE_CHECKING:
    from lutra_client.client import Client
    from lutra_client.schemas import AcceptedAnswer
NOTHING: dict[str, Any] = {
    "start": None,
    "end": None,
    "windows": 0,
    "seconds": 0,
    "symptoms": [],
    "evaluated": 0,
    "not_judged": [],
}
"""The document of a database of which nothing is known."""
WORST = ("DATABASE", "KIND", "WORST FINDING", "WHAT")
SENTENCE = 90
"""The most characters of a finding's sentence in a line of several databases."""


class NotJudged(click.ClickException):
    """The look failed, which a script must not mistake for a clean result."""

    exit_code = listed.NOT_JUDGED


@click.command()
@Databases
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

    Of several databases, the worst finding of each is listed, the worst database first: without DATABASE all that the
    token reaches, with `label:LABEL` those of a label.

    \b
    lutra findings
    lutra findings shop
    lutra findings shop --fail-on danger --junit report.xml

    The exit status is 1 if there is a finding of KIND or of a worse kind (outage, danger, fault, elsewhere, enough,
    note), or one of at least STRENGTH (0 to 1). It is 2 if something of that kind, or everything, could not be
    judged. Otherwise it is 0. Accepted risks do not count.
    """
    try:
        listed.fail_on(fail_on)
        named = _named(client, database)
        if len(named) > 1 and not gone and junit is None:
            sys.exit(_print_worst(client, named, minutes, as_json, fail_on))
        of = next(iter(named.values())) if len(named) == 1 else database_id(client, None)
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


def _named(client: Client, database: str | None) -> dict[str, str]:
    """Name → id of all that the token reaches if nothing is named."""
    return named_databases(client, database) if database else {d["name"]: d["id"] for d in client.databases.list()}


def _print_worst(client: Client, named: dict[str, str], minutes: int, as_json: bool, threshold: str) -> int:
    """A line for each database. The exit status is the worst: a finding before what could not be judged."""
    found = {name: _document(client, of, minutes) for name, of in named.items()}
    if as_json:
        for name, document in found.items():
            click.echo(json.dumps({"database": name, **document}))
    else:
        order = sorted(found, key=lambda name: _harm(listed.worst(found[name])))
        echo_table(WORST, [_worst_row(name, found[name]) for name in order], "")
    statuses = {listed.status(document, threshold) for document in found.values()}
    return next((s for s in (listed.FOUND, listed.NOT_JUDGED) if s in statuses), listed.CLEAN)


def _document(client: Client, database: str, minutes: int) -> Any:
    """Without windows for a database whose agent has not reported yet."""
    try:
        return text(client.databases.list_symptoms(database, minutes=minutes))
    except Conflict:
        return NOTHING


def _harm(worst: Any) -> tuple[int, float]:
    """The most harmful kind first, then the strongest; databases without a finding last."""
    return (len(listed.ORDER), 0.0) if worst is None else (listed.ORDER.index(worst["kind"]), -worst["strength"])


def _worst_row(name: str, document: Any) -> tuple[str, ...]:
    worst = listed.worst(document)
    if worst is None:
        return name, "", "", "no finding" if document["windows"] else "nothing was measured"
    others = sum(s["accepted"] is None and s["gone_at"] is None for s in document["symptoms"]) - 1
    sentence = textwrap.shorten(worst["sentence"], SENTENCE, placeholder=" …")
    return name, worst["kind"], worst["name"], f"{sentence} (and {others} more)" if others else sentence


def _until(word: str) -> datetime:
    """A day, which is its first moment in UTC, a moment, or a time from now on."""
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        return datetime.now(UTC) + within(word)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
