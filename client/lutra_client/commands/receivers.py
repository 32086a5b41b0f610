"""`lutra receivers …`: who is notified of what, tests, and the log of deliveries."""

from __future__ import annotations

import sys
from itertools import islice
from typing import Any, get_args, get_type_hints

import click
from lutra_models.errors import printable

from lutra_client.client import Client
from lutra_client.commands.terminal import AsJson, asking, database_id, echo_table, minute, printed
from lutra_client.schemas import DeliveryAnswer, NewReceiver, QuietHoursAnswer, ReceiverAnswer

KINDS = get_args(get_args(get_type_hints(NewReceiver)["kinds"])[0])
TEST_S = 30.0
NEWEST = 50
Name = click.argument("receiver")


@click.group()
def receivers() -> None:
    """Notify people and programs of what matters. RECEIVER is a name or an id. This needs a token with the scope
    `admin`.

    \b
    lutra receivers list
    lutra receivers add oncall https://hooks.example.com/lutra --only reverted --only guard
    lutra receivers show oncall
    lutra receivers test oncall
    lutra receivers deliveries oncall
    lutra receivers disable oncall
    lutra receivers enable oncall
    lutra receivers remove oncall
    """


@receivers.command("list")
@AsJson
@asking
def list_(client: Client, as_json: bool) -> None:
    """List the receivers without their secrets."""
    found = list(client.receivers.list())
    if as_json:
        for one in found:
            printed(one)
        return
    rows = [(r["name"], r["id"], r["kind"], r["address"], ",".join(r["kinds"]) or "all", _state(r)) for r in found]
    echo_table(("RECEIVER", "ID", "KIND", "ADDRESS", "NOTICES", "STATE"), rows, "no receiver")


@receivers.command()
@click.argument("name")
@click.argument("url", required=False)
@click.option("--only", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind; can be repeated.")
@click.option("--database", "databases", multiple=True, help="Only this database; can be repeated.")
@click.option("--label", "labels", multiple=True, help="Only databases with this label; can be repeated.")
@click.option("--quiet", help='Hours in which only urgent notices are sent: "22:00 07:00 Europe/Berlin".')
@AsJson
@asking
def add(
    client: Client,
    name: str,
    url: str | None,
    kinds: Any,
    databases: tuple[str, ...],
    labels: tuple[str, ...],
    quiet: str | None,
    as_json: bool,
) -> None:
    """Add a receiver, and print the secret that signs its webhooks. It is printed only once.

    URL begins with https:// for a webhook; every other one is an Apprise URL, such as slack://… or mailto://…. Without
    URL it is asked for, or read from standard input: other users of this machine see arguments, and it may hold a
    secret.
    """
    typed = url or (click.prompt("URL", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline())
    target = typed.strip()
    made = client.receivers.create(
        name=name,
        kind="webhook" if target.lower().startswith(("http://", "https://")) else "apprise",
        target=target,
        kinds=list(kinds),
        databases=[database_id(client, one) for one in databases],
        labels=list(labels),
        quiet_hours=None if quiet is None else _hours(quiet),
    )
    if as_json:
        printed(made)
    else:
        click.echo(made["secret"] or f"{printable(made['name'])} ({made['id']}) is added")


@receivers.command()
@Name
@AsJson
@asking
def show(client: Client, receiver: str, as_json: bool) -> None:
    """Show a receiver without its secrets."""
    found = client.receivers.get(_receiver_id(client, receiver))
    if as_json:
        printed(found)
        return
    rows = [
        ("name", found["name"]),
        ("id", found["id"]),
        ("address", f"{found['kind']} {found['address']}"),
        ("notices", ", ".join(found["kinds"]) or "all"),
        ("databases", ", ".join(found["databases"]) or ("all" if not found["labels"] else "")),
        ("labels", ", ".join(found["labels"])),
        ("quiet hours", _told(found["quiet_hours"])),
        ("state", _state(found)),
    ]
    echo_table(("FIELD", "VALUE"), rows, "")


@receivers.command()
@Name
@AsJson
@asking
def remove(client: Client, receiver: str, as_json: bool) -> None:
    """Remove a receiver, with the log of its deliveries and what waits for it."""
    gone = client.receivers.delete(_receiver_id(client, receiver))
    _show(gone, "removed", as_json)


@receivers.command()
@Name
@AsJson
@asking
def enable(client: Client, receiver: str, as_json: bool) -> None:
    """Notify a receiver again."""
    found = client.receivers.change(_receiver_id(client, receiver), enabled=True)
    _show(found, "enabled", as_json)


@receivers.command()
@Name
@AsJson
@asking
def disable(client: Client, receiver: str, as_json: bool) -> None:
    """Notify a receiver of nothing until it is enabled again. Waiting messages are dropped."""
    found = client.receivers.change(_receiver_id(client, receiver), enabled=False)
    _show(found, "disabled", as_json)


@receivers.command("test")
@Name
@AsJson
@asking
def test_(client: Client, receiver: str, as_json: bool) -> None:
    """Send a test, and wait for its result. The exit status is 1 if it does not arrive."""
    sent = client.receivers.test(_receiver_id(client, receiver), wait_s=TEST_S)
    if as_json:
        printed(sent)
    if sent["state"] == "delivered":
        if not as_json:
            click.echo(f"the test {sent['id']} arrived")
        return
    why = f"failed: {sent['error']}" if sent["error"] else "still waits: see `lutra receivers deliveries`"
    raise click.ClickException(f"the test {sent['id']} {printable(why)}")


@receivers.command()
@Name
@click.option("--state", type=click.Choice(["waiting", "delivered", "failed", "digested"]), help="Only this state.")
@click.option("--limit", type=click.IntRange(1), default=NEWEST, show_default=True)
@AsJson
@asking
def deliveries(client: Client, receiver: str, state: Any, limit: int, as_json: bool) -> None:
    """List the messages for a receiver with their outcomes, newest first."""
    found = list(islice(client.receivers.list_deliveries(_receiver_id(client, receiver), state=state), limit))
    if as_json:
        for one in found:
            printed(one)
        return
    rows = [(minute(d["at"]), d["kind"], d["state"], str(d["attempts"]), _result(d), d["text"]) for d in found]
    echo_table(("AT (UTC)", "KIND", "STATE", "TRIES", "RESULT", "TEXT"), rows, "no message")


def _show(found: ReceiverAnswer, what: str, as_json: bool) -> None:
    if as_json:
        printed(found)
    else:
        click.echo(f"{printable(found['name'])} is {what}")


def _receiver_id(client: Client, receiver: str) -> str:
    if receiver.startswith("rcv_"):
        return receiver
    for found in client.receivers.list():
        if found["name"] == receiver:
            return found["id"]
    raise click.ClickException(f"there is no receiver {printable(receiver)!r}: `lutra receivers list` shows them")


def _hours(text: str) -> Any:
    start, *rest = text.split()
    if len(rest) not in (1, 2):
        raise click.UsageError(f'{printable(text)} is not quiet hours: write "22:00 07:00 Europe/Berlin"')
    return {"start": start, "end": rest[0], "zone": [*rest, "UTC"][1]}


def _told(hours: QuietHoursAnswer | None) -> str:
    return "" if hours is None else f"{hours['start']} to {hours['end']} {hours['zone']}"


def _state(found: ReceiverAnswer) -> str:
    if not found["enabled"]:
        return f"disabled: {found['disabled_because'] or 'by an operator'}"
    return f"tries again at {minute(found['retry_at'])} (UTC)" if found["retry_at"] else "enabled"


def _result(found: DeliveryAnswer) -> str:
    return found["error"] or str(found["status"] or "")
