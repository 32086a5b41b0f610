"""The commands on a terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click
from lutra_models.errors import LutraError, printable

if TYPE_CHECKING:
    from lutra_agent.commands.look.reach import Ask

Name = click.option("--name", help="The database's name at the service.  [default: the server's own]")
Yes = click.option("--yes", is_flag=True, help="Answer every question with yes: for scripts.")
Print = click.option(
    "--print", "printing", is_flag=True, help="Execute no statement: show them, and continue with the URL's account."
)
STOPPED = "stopped; what is done stays, and the same command continues where this one ended"
INTERRUPTED = 130
"""The exit status after Ctrl-C, as a shell's own."""


class Terminal:
    """`yes` answers in place of the person."""

    def __init__(self, yes: bool) -> None:
        self._yes = yes
        self.ask: Ask | None = partial(click.prompt, hide_input=True, err=True) if sys.stdin.isatty() else None

    def tell(self, line: str) -> None:
        click.echo("\n".join(map(printable, line.split("\n"))))

    def agrees(self, question: str) -> bool:
        if self._yes:
            return True
        if self.ask is None:
            raise click.UsageError(f"nobody can answer {question!r}: add --yes")
        return click.confirm(question)


def _ending_in_one_line(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def run(**options: Any) -> None:
        logging.basicConfig(level=logging.ERROR)
        try:
            command(**options)
        except (LutraError, OSError) as error:
            raise click.ClickException("\n".join(map(printable, str(error).split("\n")))) from error
        except KeyboardInterrupt:
            click.echo(f"\n{STOPPED}", err=True)
            sys.exit(INTERRUPTED)

    return run


@click.command()
@click.argument("url")
@Name
@Yes
@Print
@click.option("--elsewhere", is_flag=True, help="Run no agent here: print the line for the server's own host.")
@_ending_in_one_line
def add(url: str, name: str | None, yes: bool, printing: bool, elsewhere: bool) -> None:
    """Add the server at URL: register it, make its agent's account, and start the agent here.

    URL begins with the engine's name, as in engine://user@host/database, and is read as by `lutra check`. The account
    that it names makes the agent's own account, after a yes. The agent only observes, until its own file allows more.

    Repeating the command is harmless: it starts the agent if it does not run, or if its file was edited.

    \b
    lutra add engine://user@host/database --name shop
    lutra add engine://user@host/database --elsewhere
    """
    from lutra_agent.clock import SystemClock
    from lutra_agent.commands.add.run import Wanted, add_elsewhere
    from lutra_agent.commands.add.run import add as added

    wanted = Wanted(url, name, printing)
    if elsewhere:
        add_elsewhere(wanted, Terminal(yes))
    else:
        added(wanted, Terminal(yes), SystemClock())


@click.command()
@click.argument("name", shell_complete=lambda *asked: _added(asked[-1]))
@Yes
@_ending_in_one_line
def remove(name: str, yes: bool) -> None:
    """Remove the database NAME: retire it, end its agent here, and delete the agent's folder.

    An open session is stopped, and the account that `lutra add` made is dropped, each after a yes. The service keeps
    the measurements.

    \b
    lutra remove shop
    """
    from lutra_agent.commands.add.remove import remove as removed

    removed(name, Terminal(yes))


def _added(incomplete: str) -> list[str]:
    """The databases with an agent here, for a shell that completes."""
    from lutra_agent.commands.add.folder import folders

    return [folder.name for folder in folders() if folder.name.startswith(incomplete)]


@click.command()
@click.argument("service")
@click.argument("token")
@click.argument("url")
@Yes
@Print
@_ending_in_one_line
def enrol(service: str, token: str, url: str, yes: bool, printing: bool) -> None:
    """Enrol this host's agent at SERVICE for the server at URL, with a TOKEN of `lutra add URL --elsewhere`.

    The token is valid once and for 15 minutes, and is replaced by the agent's own. LUTRA_CA_FILE names the authority
    that signed the service's certificate, if it is your own.
    """
    from lutra_agent.clock import SystemClock
    from lutra_agent.commands.add.run import Wanted
    from lutra_agent.commands.add.run import enrol as enrolled

    enrolled(service, token, Wanted(url, None, printing), Terminal(yes), SystemClock())
