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

from lutra_lab.scratch import scratch_servers
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError


class Stopped(Exception):
    """A signal requested the end."""


@click.group()
def lab() -> None:
    """Scratch database servers, removed when the command ends."""


def _command(kind: type[ScratchServer]) -> click.Command:
    def run(
        directory: Path, scale: int | None, example: bool, port: int | None, options: tuple[str, ...], **more: Path
    ) -> None:
        settings = {**kind.lab.server, **dict(_pair(option) for option in options)}
        size = scale or (kind.lab.example if example else None)
        _until_the_end(kind, lambda: kind(directory, port, settings, more.get("programs")), size)

    folder = click.Path(path_type=Path)
    parameters = [
        click.Option(["--dir", "directory"], type=folder, required=True, help="The folder to create for the server."),
        click.Option(["--scale"], type=click.IntRange(min=1), help=kind.lab.scale),
        click.Option(
            ["--example"],
            is_flag=True,
            help="Fill the server with several times the size of its default cache, as `lutra demo` does.",
        ),
        click.Option(["--port"], type=click.IntRange(1, 65535), help="The port.  [default: a free one]"),
        click.Option(["--set", "options"], multiple=True, metavar="NAME=VALUE", help="A line for the server's file."),
    ]
    if kind.lab.programs is not None:
        name, meaning = kind.lab.programs
        parameters.append(click.Option([name, "programs"], type=folder, help=meaning))
    return click.Command(kind.engine, callback=run, params=list[click.Parameter](parameters), help=_about(kind))


def _about(kind: type[ScratchServer]) -> str:
    return (
        f"Start a {kind.title}, print one JSON line about it, and run until SIGTERM, SIGINT or the end of stdin.\n\n"
        "The line contains the values for an agent's file. If the server was filled, `driver` is its [driver] section."
    )


for _kind in scratch_servers():
    lab.add_command(_command(_kind))


def _until_the_end(kind: type[ScratchServer], make: Callable[[], ScratchServer], scale: int | None) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        if scale:
            kind.require_load()
        with make() as server:
            told = server.describe()
            if scale:
                load = server.load(scale)
                told |= {"load": load.description, "driver": load.driver}
            click.echo(json.dumps(told))
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
