"""`lutra login` and `lutra contexts`: the services that this user works with."""

from __future__ import annotations

import os
import sys
from urllib.parse import urlsplit

import click

from lutra_client import contexts as saved
from lutra_client.commands.terminal import AsJson, correctable, echo_table, printed
from lutra_client.contexts import Context

Name = click.argument("name", shell_complete=lambda *asked: _known(asked[-1]))
WINNERS = ("LUTRA_URL", "LUTRA_TOKEN", "LUTRA_CA_FILE")


@click.command()
@click.argument("url")
@click.option("--name", help="The name of the context.  [default: the host in URL]")
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="The certificate (PEM) of the authority that signed the service's, if it is your own.",
)
@AsJson
def login(url: str, name: str | None, ca_file: str | None, as_json: bool) -> None:
    """Use the service at URL from now on: ask for a token, check it, and keep it in a file that only you can read.

    A token that is piped in is read from stdin.

    \b
    lutra login https://lutra.example:8443
    lutra login https://lutra.example:8443 < token
    """
    from lutra_client.client import Client
    from lutra_client.errors import Unauthorized

    token = (click.prompt("Token", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()).strip()
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
    _show(context, True, f"{context.name}: {url}; the token reaches {count} databases", as_json)
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
            _show(found, found.name == known.used, "", as_json)
        return
    rows = [("*" if c.name == known.used else " ", c.name, c.url, c.ca_file or "") for c in known.saved.values()]
    echo_table((" ", "CONTEXT", "URL", "CA FILE"), rows, "no service yet: `lutra up` or `lutra login URL`")
    _warn_of_environment()


@contexts.command()
@Name
@AsJson
def use(name: str, as_json: bool) -> None:
    """Use the context NAME from now on.

    \b
    lutra contexts use work
    """
    with correctable():
        found = saved.use(name)
    _show(found, True, f"in use: {name}, {found.url}", as_json)
    _warn_of_environment()


@contexts.command()
@Name
@AsJson
def forget(name: str, as_json: bool) -> None:
    """Delete the context NAME with its token from this machine. The service still accepts the token.

    \b
    lutra contexts forget old
    """
    with correctable():
        gone = saved.forget(name)
    _show(gone, False, f"forgotten: {name}", as_json)


def _show(found: Context, used: bool, sentence: str, as_json: bool) -> None:
    """Never with its token."""
    if as_json:
        printed({"name": found.name, "url": found.url, "ca_file": found.ca_file, "used": used})
    else:
        click.echo(sentence)


def _known(incomplete: str) -> list[str]:
    """The saved contexts, for a shell that completes."""
    try:
        return [name for name in saved.load().saved if name.startswith(incomplete)]
    except ValueError:
        return []


def _warn_of_environment() -> None:
    names = [name for name in WINNERS if os.environ.get(name)]
    if names:
        takes = "takes" if len(names) == 1 else "take"
        click.echo(
            f"note: {' and '.join(names)} from the environment {takes} precedence over the context in use", err=True
        )
