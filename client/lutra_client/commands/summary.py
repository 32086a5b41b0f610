"""`lutra summary`: what happened in a week, as text, as a page or as JSON."""

from __future__ import annotations

from pathlib import Path

import click
from lutra_models.errors import printable

from lutra_client.client import Client
from lutra_client.commands.summary_page import page
from lutra_client.commands.terminal import AsJson, Database, asking, database_id, printed


@click.command()
@Database
@click.option("--days", type=click.IntRange(1, 31), default=7, show_default=True, help="The number of days up to now.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with charts to this file.")
@AsJson
@asking
def summary(client: Client, database: str | None, days: int, html: Path | None, as_json: bool) -> None:
    """Summarise the last days against as many days before: of every database, or of DATABASE.

    It shows p99 and QPS, changes and their effect, guards, findings, proposals, sessions and silent agents. The page of
    --html is one file that loads nothing from the network.

    \b
    lutra summary
    lutra summary shop --days 1
    lutra summary --html week.html
    """
    found = client.summary.get(days=days, database=None if database is None else database_id(client, database))
    if html is not None:
        try:
            html.write_text(page(found), encoding="utf-8")
        except OSError as error:
            raise click.ClickException(f"{html}: {error.strerror}") from error
    if as_json:
        printed(found)
    elif html is None:
        for line in found["text"].splitlines():
            click.echo(printable(line))
    else:
        click.echo(f"wrote {html}")
