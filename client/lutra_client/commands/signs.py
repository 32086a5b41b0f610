"""A sign of life while somebody waits, and a sentence for somebody who stops waiting."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

SIGN_EVERY_S = 30.0
"""On a terminal every second; a log gets a line only so often."""


class Stopped(click.ClickException):
    """Ctrl-C. The message says what goes on, and how to come back to it."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"\n{self.message}", file=file, err=file is None)


@contextmanager
def stoppable(left: str) -> Iterator[None]:
    """Raises Stopped with the sentence `left` at Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(left) from None


@contextmanager
def alive(doing: str) -> Iterator[None]:
    """Say on stderr what one waits for and for how long already, until it is over."""
    ended = threading.Event()
    terminal = sys.stderr.isatty()
    click.echo(f"{doing} …", err=True, nl=not terminal)
    teller = threading.Thread(target=_tell, args=(doing, ended, terminal), daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
        if terminal:
            click.echo("\r\x1b[K", err=True, nl=False)


def _tell(doing: str, ended: threading.Event, terminal: bool) -> None:
    began = time.monotonic()
    while not ended.wait(1.0 if terminal else SIGN_EVERY_S):
        line = f"{doing} … {time.monotonic() - began:.0f} s"
        click.echo(f"\r{line}" if terminal else line, err=True, nl=not terminal)
