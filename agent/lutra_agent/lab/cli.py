"""`lutra-agent lab`: a scratch server for a tuning session, for as long as the command runs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import click

from lutra_agent.lab.errors import LabError
from lutra_agent.lab.mysqld import ScratchMysqld
from lutra_agent.lab.postgresql import ScratchPostgres, environment

Scratch = ScratchPostgres | ScratchMysqld
ROWS = 100_000


class Stopped(Exception):
    """A signal asked us to end."""


@click.group()
def lab() -> None:
    """Scratch database servers, gone when the command ends."""


directory_option = click.option(
    "--dir", "directory", type=click.Path(path_type=Path), required=True, help="A folder to be made for it."
)
port_option = click.option("--port", type=click.IntRange(1, 65535), help="Default: a free one.")
set_option = click.option("--set", "options", multiple=True, metavar="NAME=VALUE", help="A line for the server's file.")
tables_option = click.option(
    "--scale", type=click.IntRange(min=1), help="Fill it with this many of sysbench's tables, of 100,000 rows each."
)


@lab.command()
@directory_option
@click.option("--scale", type=click.IntRange(min=1), help="Fill it with pgbench's tables at this scale (16 MB each).")
@click.option("--bin-dir", type=click.Path(path_type=Path), help="Another PostgreSQL's programs; default: embedded 18.")
@port_option
@set_option
def postgresql(
    directory: Path, scale: int | None, bin_dir: Path | None, port: int | None, options: tuple[str, ...]
) -> None:
    """Start a PostgreSQL, print one JSON line about it, and run until SIGTERM, SIGINT or the end of stdin."""
    settings = dict(_pair(option) for option in options)
    _until_the_end(
        lambda: ScratchPostgres(directory, bin_dir, port, settings), lambda s: fill(s, scale) if scale else None
    )


@lab.command()
@directory_option
@tables_option
@port_option
@set_option
def mariadb(directory: Path, scale: int | None, port: int | None, options: tuple[str, ...]) -> None:
    """Start a MariaDB: this machine's own programs, another folder. The rest is as with postgresql."""
    from lutra_agent.lab.mariadb import HISTOGRAM, ScratchMariadb

    settings = {**HISTOGRAM, **dict(_pair(option) for option in options)}
    _until_the_end(
        lambda: ScratchMariadb(directory, port, settings), lambda s: fill_sysbench(s, scale) if scale else None
    )


@lab.command()
@directory_option
@tables_option
@click.option("--root", type=click.Path(path_type=Path), help="The folder of a system that has MySQL.")
@port_option
@set_option
def mysql(directory: Path, scale: int | None, root: Path | None, port: int | None, options: tuple[str, ...]) -> None:
    """Start a MySQL: this machine's own programs, or those of --root. The rest is as with postgresql."""
    from lutra_agent.lab.mysql import ScratchMysql

    settings = dict(_pair(option) for option in options)
    _until_the_end(
        lambda: ScratchMysql(directory, port, settings, root), lambda s: fill_sysbench(s, scale) if scale else None
    )


def _until_the_end(make: Callable[[], Scratch], fill: Callable[[Any], object]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        with make() as server:
            fill(server)
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


def fill_sysbench(server: ScratchMysqld, tables: int, rows: int = ROWS) -> None:
    """sysbench's tables, progress on stderr. Raises LabError."""
    where = [f"--mysql-host={server.host}", f"--mysql-port={server.port}", f"--mysql-user={server.user}"]
    size = [f"--mysql-db={server.dbname}", f"--tables={tables}", f"--table-size={rows}", f"--threads={min(tables, 4)}"]
    argv = ["sysbench", "--db-driver=mysql", *where, *size, "oltp_read_write", "prepare"]
    try:
        done = subprocess.run(argv, stdout=sys.stderr)
    except OSError as error:
        raise LabError(f"sysbench: {error.strerror}") from error
    if done.returncode != 0:
        raise LabError(f"sysbench prepare: exit {done.returncode}")


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
