"""Options that the commands share, and how they say where they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.tuning import named
from benchmarks.tuning.rows import FOLDER


class Names(click.ParamType[tuple[str, ...]]):
    """Names separated by commas, out of the known ones."""

    name = "names"

    def __init__(self, known: Sequence[str]) -> None:
        self._known = tuple(known)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(n.strip() for n in str(value).split(",") if n.strip())
        unknown = [n for n in names if n not in self._known]
        if unknown:
            self.fail(f"no {', '.join(unknown)}; there are: {', '.join(self._known)}", param, ctx)
        return names


def tasks_option(default: str = ",".join(named.NAMES)) -> Callable[[Any], Any]:
    return click.option("--tasks", type=Names(named.NAMES), default=default, show_default=True)


def seeds_option(default: int = 10) -> Callable[[Any], Any]:
    return click.option(
        "--seeds", type=click.IntRange(1), default=default, show_default=True, help="Seeds 0 to this number, less one."
    )


results_option = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=FOLDER,
    help="Where the result files are kept. What is there already is not computed again.  [default: beside the code]",
)


class Progress:
    """One line per run, with the time that the rest should take at the pace so far."""

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total, self._done, self._skipped = title, total, 0, 0
        self._began = time.monotonic()

    def skip(self) -> None:
        self._skipped += 1

    def done(self, sentence: str) -> None:
        self._done += 1
        pace = (time.monotonic() - self._began) / self._done
        left = self._total - self._done - self._skipped
        rest = f", about {pace * left / 60:.0f} min left" if left else ""
        click.echo(f"{self._title} {self._done + self._skipped}/{self._total}: {sentence}{rest}")

    def close(self) -> None:
        if self._skipped:
            click.echo(f"{self._title}: {self._skipped} of {self._total} were there already")
