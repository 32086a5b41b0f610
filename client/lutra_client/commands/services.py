"""`lutra login` and `lutra contexts`: the services that this user works with."""

from __future__ import annotations

import os
import sys
from urllib.parse import urlsplit

import click

from lutra_client import contexts as saved
from lutra_client.client import Client
from lutra_client.commands.terminal import AsJson, correctable, echo_table, printed
from lutra_client.contexts import Context
from lutra_client.errors import Unauthorized

WINNERS = ("LUTRA_URL", "LUTRA_TOKEN", "LUTRA_CA_FILE")


@click.command()
@click.argument("url")
@click.option("--name", help="The name of the context.  [default: the host in URL]")
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="The certificate (PEM) of the authority that signed the service's, if it is your own.",
)
def login(url: str, name: str | None, ca_file: str | None) -> None:
    """Use the service at URL from now on: ask for a token, check it, and keep it in a file that only you can read.

    A token that is piped in is read from stdin.

    \b
    lutra login https://lutra.example:8443
    lutra login https://lutra.example:8443 < token
    """
    token = (click.prompt("Token", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if not token:
        raise click.ClickException("no token was given: type it at the prompt, or pipe it in")
    with correctable():
        context = Context(name or urlsplit(url).hostname or "", url, token, ca_file)
        with Client(context.url, context.token, ca_file=context.ca_file) as client:
            try:
                count = sum(1 for _ in client.databases.list())
            except Unauthorized as error:
                raise click.ClickException(
                    f"the service at {url} does not accept this token: it was revoked, it has expired, or it belongs "
                    "to another service; ask the service's administrator for one (`lutra tokens create`)"
                ) from error
        saved.save(context)
    click.echo(f"{context.name}: {url}; the token reaches {count} databases")
    _warn_of_environment()


@click.group(invoke_without_command=True)
@AsJson
@click.pass_context
def contexts(context: click.Context, as_json: bool) -> None:
    """List the services that you use, and switch between them. Without a command: list them, * marks the one in use.

    \b
    lutra contexts
    lutra contexts use work
    lutra contexts forget old
    """
    if context.invoked_subcommand is not None:
        return
    with correctable():
        known = saved.load()
    if as_json:
        for found in known.saved.values():
            printed({"name": found.name, "url": found.url, "ca_file": found.ca_file, "used": found.name == known.used})
        return
    rows = [("*" if c.name == known.used else " ", c.name, c.url, c.ca_file or "") for c in known.saved.values()]
    echo_table((" ", "CONTEXT", "URL", "CA FILE"), rows, "no service yet: `lutra up` or `lutra login URL`")
    _warn_of_environment()


@contexts.command()
@click.argument("name")
def use(name: str) -> None:
    """Use the context NAME from now on."""
    with correctable():
        click.echo(f"in use: {name}, {saved.use(name).url}")
    _warn_of_environment()


@contexts.command()
@click.argument("name")
def forget(name: str) -> None:
    """Delete the context NAME with its token from this machine. The service still accepts the token."""
    with correctable():
        saved.forget(name)
    click.echo(f"forgotten: {name}")


def _warn_of_environment() -> None:
    names = [name for name in WINNERS if os.environ.get(name)]
    if names:
        click.echo(
            f"note: {' and '.join(names)} from the environment take precedence over the context in use", err=True
        )
