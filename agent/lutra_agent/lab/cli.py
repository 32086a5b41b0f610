"""`lutra-agent lab`: a scratch server for a tuning session, for as long as the command runs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

import click

from lutra_agent.lab.errors import LabError
from lutra_agent.lab.postgresql import ScratchPostgres, environment


class Stopped(Exception):
    """A signal asked us to end."""


@click.group()
def lab() -> None:
    """Scratch database servers, gone when the command ends."""


@lab.command()
@click.option("--dir", "directory", type=click.Path(path_type=Path), required=True, help="A folder to be made for it.")
@click.option("--scale", type=click.IntRange(min=1), help="Fill it with pgbench's tables at this scale (16 MB each).")
@click.option("--bin-dir", type=click.Path(path_type=Path), help="Another PostgreSQL's programs; default: embedded 18.")
@click.option("--port", type=click.IntRange(1, 65535), help="Default: a free one.")
@click.option("--set", "options", multiple=True, metavar="NAME=VALUE", help="A line for postgresql.conf.")
def postgresql(
    directory: Path, scale: int | None, bin_dir: Path | None, port: int | None, options: tuple[str, ...]
) -> None:
    """Start a PostgreSQL, print one JSON line about it, and run until SIGTERM, SIGINT or the end of stdin."""
    settings = dict(_pair(option) for option in options)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        with ScratchPostgres(directory, bin_dir, port, settings) as server:
            if scale is not None:
                fill(server, scale)
            click.echo(json.dumps(server.describe()))
            wait_for_end_of_stdin()
    except Stopped:
        return
    except LabError as error:
        raise click.ClickException(str(error)) from error


def fill(server: ScratchPostgres, scale: int) -> None:
    """pgbench's tables, progress on stderr. Raises LabError."""
    argv = [str(server.bin_dir / "pgbench"), "-i", "-s", str(scale), "-h", server.host, "-p", str(server.port)]
    done = subprocess.run([*argv, "-U", server.user, server.dbname], env=environment(), stdout=sys.stderr)
    if done.returncode != 0:
        raise LabError(f"pgbench -i -s {scale}: exit {done.returncode}")


def wait_for_end_of_stdin() -> None:
    descriptor = sys.stdin.fileno()
    while True:
        select.select([descriptor], [], [])
        if not os.read(descriptor, 4096):
            return


def _stop(_number: int, _frame: FrameType | None) -> None:
    # Once is enough: a second signal must not interrupt the clearing away.
    for again in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(again, signal.SIG_IGN)
    raise Stopped


def _pair(option: str) -> tuple[str, str]:
    name, separator, value = option.partition("=")
    if not separator or not name:
        raise click.BadParameter(f"{option!r} is not NAME=VALUE", param_hint="--set")
    return name, value
