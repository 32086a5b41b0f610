"""`lutra notebook`: JupyterLab on the notebooks."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Literal

import click
from lutra_client import Client, contexts
from lutra_models.errors import LutraError

Scope = Literal["read", "models"]
LONGEST = timedelta(days=7)
"""How long the token is valid where nothing could revoke it: this machine lost power, say."""


BOOK = Path(__file__).parent / "book"
"""The notebooks as they were installed."""

GRACE_S = 30.0
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PR_SET_PDEATHSIG = 1


@click.command()
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("lutra-notebooks"),
    show_default=True,
    help="The folder for your copies of the notebooks. Missing ones are added; existing ones are not changed.",
)
@click.option(
    "--scope",
    type=click.Choice(["read", "models"]),
    default="read",
    show_default=True,
    help="The scope of the token that is created for the notebooks: `models` lets 05 score and promote.",
)
@click.argument("jupyter", nargs=-1, type=click.UNPROCESSED)
def notebook(folder: Path, scope: Scope, jupyter: tuple[str, ...]) -> None:
    """Open the notebooks for data scientists in JupyterLab.

    \b
    00_my_session  one session: the best so far, the trials, the cost
    01_workloads   the fleet's workloads: a map, signatures, similarity
    02_settings    influential settings: gains, slices, interactions
    03_forecasts   accuracy of forecasts: intervals and hit rate, by engine and over time
    04_retrain     options, your own surrogate, a race against the champion
    05_promote     promote a model version, watch it in the shadow, roll back
    06_my_table    a table of your own, without a service

    The notebooks read the service in use (`lutra contexts`, or LUTRA_URL). If LUTRA_TOKEN is not set, this command
    creates a token of its own with your administrator's token. When the command ends, it ends JupyterLab and revokes
    that token.

    Arguments after `--` are passed to JupyterLab.

    \b
    lutra notebook
    lutra notebook -- --no-browser --port 8889
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise click.ClickException(f"JupyterLab is not installed: {sys.executable} -m pip install jupyterlab")
    with _ended_by_signals():
        for copy in filled(folder):
            click.echo(f"copied {copy}")
        environment = {**os.environ, **_place()}
        click.echo(f"the notebooks read {environment['LUTRA_URL']}")
        started = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.resolve()}", *jupyter]
        given = environment.get("LUTRA_TOKEN")
        try:
            with nullcontext(given) if given else own_token(scope) as token:
                sys.exit(_run(started, {**environment, "LUTRA_TOKEN": token}))
        except NoToken as error:
            raise click.ClickException(
                f"LUTRA_TOKEN is not set, and no token could be made: {error}. Set LUTRA_TOKEN to what "
                "`lutra tokens create --name notebooks --scope read` prints for an administrator"
            ) from error


def _place() -> dict[str, str]:
    """The service in use, in the words of the environment."""
    context = contexts.current()
    return {"LUTRA_URL": context.url, **({"LUTRA_CA_FILE": context.ca_file} if context.ca_file else {})}


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run JupyterLab, and end it however this command ends. In a session of its own: it would ask back on Ctrl-C."""
    process = subprocess.Popen(arguments, env=environment, start_new_session=True, preexec_fn=_ends_with_parent)
    try:
        return process.wait()
    finally:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM, SIGINT and SIGHUP end what is inside, once; what it does to end is not disturbed by a second one."""

    def end(number: int, _frame: FrameType | None) -> None:
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ends_with_parent() -> None:
    """Have the kernel end this process when its parent is gone, however it went; only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def filled(folder: Path) -> list[Path]:
    """Copy those notebooks to `folder` that it does not have yet; what is there stays as it is. The copies."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for notebook in sorted(BOOK.glob("*.ipynb")):
        copy = folder / notebook.name
        if not copy.exists():
            shutil.copyfile(notebook, copy)
            made.append(copy)
    return made


class NoToken(RuntimeError):
    """None could be made; the message says why."""


@contextmanager
def own_token(scope: Scope) -> Iterator[str]:
    """A new token's secret, revoked on exit. Raises NoToken."""
    name = f"lutra notebook {secrets.token_hex(4)}"
    try:
        client = Client.from_environment()
    except ValueError as error:
        raise NoToken(str(error)) from error
    with client:
        try:
            made = client.tokens.create_global(name=name, scopes=[scope], expires_at=datetime.now(UTC) + LONGEST)
        except LutraError as error:
            raise NoToken(str(error)) from error
        try:
            yield made["token"] or ""
        finally:
            client.tokens.revoke_any(made["id"])
