"""`lutra-agent lab`: a scratch server for a tuning session, for as long as the command runs."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import click

from lutra_lab import loads
from lutra_lab.errors import LabError
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_lab.servers.postgresql import ScratchPostgres

Scratch = ScratchPostgres | ScratchMysqld


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
example_option = click.option(
    "--example", is_flag=True, help="Fill it with several times what its default cache holds, as `lutra demo` does."
)


@lab.command()
@directory_option
@click.option("--scale", type=click.IntRange(min=1), help="Fill it with pgbench's tables at this scale (16 MB each).")
@example_option
@click.option("--bin-dir", type=click.Path(path_type=Path), help="Another PostgreSQL's programs; default: embedded 18.")
@port_option
@set_option
def postgresql(
    directory: Path, scale: int | None, example: bool, bin_dir: Path | None, port: int | None, options: tuple[str, ...]
) -> None:
    """Start a PostgreSQL, print one JSON line about it, and run until SIGTERM, SIGINT or the end of stdin.

    The line holds what an agent's file needs; where the server was filled, `driver` is a [driver] section for it.
    """
    settings = dict(_pair(option) for option in options)
    size = scale or (loads.EXAMPLE_SCALE if example else None)
    load = loads.pgbench(size) if size else loads.empty
    _until_the_end(lambda: ScratchPostgres(directory, bin_dir, port, settings), load)


@lab.command()
@directory_option
@tables_option
@example_option
@port_option
@set_option
def mariadb(directory: Path, scale: int | None, example: bool, port: int | None, options: tuple[str, ...]) -> None:
    """Start a MariaDB: this machine's own programs, another folder. The rest is as with postgresql."""
    from lutra_lab.servers.mariadb import HISTOGRAM, ScratchMariadb

    settings = {**HISTOGRAM, **loads.WARM, **dict(_pair(option) for option in options)}
    _until_the_end(lambda: ScratchMariadb(directory, port, settings), _tables(scale, example))


@lab.command()
@directory_option
@tables_option
@example_option
@click.option("--root", type=click.Path(path_type=Path), help="The folder of a system that has MySQL.")
@port_option
@set_option
def mysql(
    directory: Path, scale: int | None, example: bool, root: Path | None, port: int | None, options: tuple[str, ...]
) -> None:
    """Start a MySQL: this machine's own programs, or those of --root. The rest is as with postgresql."""
    from lutra_lab.servers.mysql import ScratchMysql

    settings = {**loads.WARM, **dict(_pair(option) for option in options)}
    _until_the_end(lambda: ScratchMysql(directory, port, settings, root), _tables(scale, example))


def _tables(scale: int | None, example: bool) -> loads.Loader:
    tables = scale or (loads.EXAMPLE_TABLES if example else None)
    return loads.sysbench(tables) if tables else loads.empty


def _until_the_end(make: Callable[[], Scratch], load: loads.Loader) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        with make() as server:
            told = load(server)
            click.echo(json.dumps({**server.describe(), **told}))
            wait_for_end_of_stdin()
    except Stopped:
        return
    except LabError as error:
        raise click.ClickException(str(error)) from error


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
