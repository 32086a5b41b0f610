"""`lutra up`, `down` and `logs`: a service of one's own on this machine, and `admin-token` for every other."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from lutra_client import contexts
from lutra_client.commands.signs import Stopped, alive, stoppable
from lutra_client.contexts import Context
from lutra_models import __version__
from lutra_models.errors import printable

from lutra_service.commands.local import HOST, Local, Record, Unusable, answer
from lutra_service.commands.verbs import Verb

if TYPE_CHECKING:
    from lutra_service.common.settings import Settings

CONTEXT = "local"
PORT = 8000
PATIENCE_S = 120.0
LINES = 50
NEXT = """
next:
  lutra add URL      add a database, with an agent beside it
  lutra doctor       check that everything is in place
  lutra status       show the service and its databases
  lutra down         stop the service; its data are kept"""


@click.command(cls=Verb)
@click.option("--port", type=click.IntRange(1, 65535), help="[default: the previous port, or 8000, or a free one]")
def up(port: int | None) -> None:
    """Start a service on this machine, with everything that it needs.

    It listens on loopback and keeps its database in your data folder. The schema is made, and an administrator's token
    is kept where `lutra` finds it by itself. It runs under your user's systemd if there is one, and otherwise as a
    detached process. If it runs already, nothing changes. For a service that others use, see `lutra serve`.

    \b
    lutra up
    """
    try:
        local = Local.of_user()
        with local.held():
            running = local.running()
            if running is None:
                running = _started(local, port)
            else:
                _require_same(running, port)
                click.echo(f"the service runs already at {running.url}")
            _save_context(local, running)
    except (Unusable, contexts.UnusableContexts) as error:
        raise click.ClickException(printable_lines(str(error))) from error
    click.echo(NEXT)


@click.command(cls=Verb)
@click.option("--delete", is_flag=True, help="Delete its data, its log and its token too, after a yes.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def down(delete: bool, yes: bool) -> None:
    """Stop the service that `lutra up` started. Its data are kept.

    The agents of `lutra add` run on, and keep their reports for the next `lutra up`. `lutra remove` ends an agent; when
    all are removed, `--delete` leaves nothing of the service on this machine.

    \b
    lutra down
    """
    from lutra_service.common.settings import own_folder

    if not own_folder().is_dir():
        click.echo("no service of `lutra up` is on this machine")
        return
    try:
        local = Local.of_user()
        if delete:
            _require_deletable(local, yes)
        with local.held():
            ended = _stop(local)
            if delete:
                _delete(local)
                return
    except (Unusable, contexts.UnusableContexts) as error:
        raise click.ClickException(printable_lines(str(error))) from error
    if ended:
        click.echo("its data are kept: `lutra up` starts it again with them, and `lutra down --delete` deletes them")
    if agents := local.agents():
        click.echo(f"agents run on: {printable(', '.join(agents))}; `lutra remove NAME` ends one")


@click.command(cls=Verb)
@click.option("--follow", "-f", is_flag=True, help="Wait for further lines until Ctrl-C.")
def logs(follow: bool) -> None:
    """Show the last lines of the log of the service that `lutra up` started.

    \b
    lutra logs
    lutra logs --follow
    """
    try:
        local = Local.of_user()
    except Unusable as error:
        raise click.ClickException(str(error)) from error
    if not local.log.exists():
        raise click.ClickException(f"there is no log {local.log}: `lutra up` has started no service yet")
    click.echo(printable_lines(local.tail(LINES)))
    if follow:
        with stoppable("stopped following; the service goes on"):
            _follow(local.log)


@click.command("admin-token", cls=Verb)
@click.option("--name", required=True, help="The user or program that uses the token.")
def admin_token(name: str) -> None:
    """Create an administrator's token in the database that LUTRA_DATABASE_URL names, and print it once.

    With it, `lutra login URL` and `lutra tokens create` make all others over the network.

    \b
    lutra admin-token --name admin
    """
    from lutra_service.common.settings import Settings

    click.echo(_new_token(Settings(), name))


def printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.splitlines()))


def _require_deletable(local: Local, yes: bool) -> None:
    """Raises Unusable while databases are set up here, and Abort without a yes."""
    if agents := local.agents():
        raise Unusable(f"still set up here: {', '.join(agents)}; `lutra remove NAME` removes each, then repeat this")
    if not yes:
        click.confirm(f"Delete {local.folder}, with everything that the service has measured?", abort=True)


def _stop(local: Local) -> bool:
    """Whether it ran."""
    running = local.running()
    if running is None:
        click.echo(f"no service of `lutra up` is running{_ended(local.record())}")
        return False
    left = f"stopped waiting; the service (process {running.pid}) ends by itself"
    with stoppable(left), alive(f"waiting until the service (process {running.pid}) has ended"):
        local.stop(running, PATIENCE_S)
    click.echo("the service has ended")
    return True


def _delete(local: Local) -> None:
    record, known = local.record(), contexts.load().saved.get(CONTEXT)
    if record is not None and known is not None and known.url == record.url:
        contexts.forget(CONTEXT)
    local.delete()
    click.echo(f"{local.folder} is deleted")


def _require_same(running: Record, port: int | None) -> None:
    """Raises Unusable for a service of another version, or at another port than the one asked for."""
    _, told = answer(f"{running.url}/healthz")
    theirs = str(told.get("version", __version__))
    if theirs != __version__:
        raise Unusable(
            f"the service at {running.url} is version {theirs}, and this program {__version__}: run `lutra down`, then "
            "`lutra up`"
        )
    if port not in (None, running.port):
        raise Unusable(
            f"the service runs already at port {running.port}: run `lutra down`, then `lutra up --port {port}`"
        )


def _started(local: Local, port: int | None) -> Record:
    before = local.record()
    if before is not None and before.born:
        click.echo(f"the previous service has ended unexpectedly (process {before.pid}); starting it again")
    wanted = _port(before, port)
    _make_schema(local)
    record = local.start(wanted)
    try:
        with alive(f"waiting until the service answers at {record.url}; Ctrl-C stops it"):
            local.wait(record, PATIENCE_S)
    except KeyboardInterrupt:
        local.stop(record, PATIENCE_S)
        raise Stopped("the service is stopped again; `lutra up` starts it with the same data") from None
    click.echo(f"the service runs at {record.url}, with its data in {local.folder}")
    return record


def _port(before: Record | None, port: int | None) -> int:
    """The port to listen on. Agents know the port of before: another one has to be asked for. Raises Unusable."""
    wanted = port or (None if before is None else before.port)
    if wanted is None:
        return PORT if _is_free(PORT) else _any_free()
    if _is_free(wanted):
        return wanted
    raise Unusable(
        f"port {wanted} is in use by another program (`ss -ltnp 'sport = :{wanted}'` names it): stop that program, or "
        "choose another port with `lutra up --port`"
    )


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError:
            return False
    return True


def _any_free() -> int:
    with socket.socket() as tried:
        tried.bind((HOST, 0))
        port: int = tried.getsockname()[1]
        return port


def _make_schema(local: Local) -> None:
    from lutra_service.db import migrate
    from lutra_service.db.schema.engine import make_engine

    engine = make_engine(local.database_url)
    try:
        migrate.upgrade(engine)
    except migrate.UnknownSchema as error:
        raise Unusable(f"the database in {local.folder}: {error}") from error
    finally:
        engine.dispose()


def _save_context(local: Local, record: Record) -> None:
    """Have the program find the service and a token that it accepts; a context that is right stays as it is."""
    saved = contexts.load()
    known = saved.saved.get(CONTEXT)
    accepted = known is not None and answer(f"{record.url}/v1/tokens?limit=1", known.token)[0] == 200
    if known is None or not accepted or known.url != record.url:
        from lutra_service.common.settings import Settings

        settings = Settings(database_url=local.database_url)
        token = known.token if known is not None and accepted else _new_token(settings, "lutra up")
        contexts.save(Context(CONTEXT, record.url, token))
        click.echo(f"an administrator's token is kept in {contexts.file()}")
    elif saved.used != CONTEXT:
        click.echo(f"in use is the context {saved.used}; `lutra contexts use {CONTEXT}` switches to this service")
    if os.environ.get("LUTRA_URL") or os.environ.get("LUTRA_TOKEN"):
        click.echo("note: LUTRA_URL and LUTRA_TOKEN from the environment take precedence over this service", err=True)


def _new_token(settings: Settings, name: str) -> str:
    from lutra_service.app.access.tokens import create_token
    from lutra_service.commands.opening import opened

    with opened(settings) as store:
        _, secret = store.write(lambda unit: create_token(unit, name, ["admin"]))
    return secret


def _ended(record: Record | None) -> str:
    if record is None or not record.born:
        return ""
    return f": process {record.pid} has ended, or the number belongs to another program now; `lutra up` starts it again"


def _follow(log: Path) -> None:
    with log.open(encoding="utf-8", errors="replace") as read:
        read.seek(0, os.SEEK_END)
        while True:
            line = read.readline()
            if line:
                click.echo(printable_lines(line))
            elif read.tell() > log.stat().st_size:  # the service has copied and emptied it
                read.seek(0)
            else:
                time.sleep(0.5)
