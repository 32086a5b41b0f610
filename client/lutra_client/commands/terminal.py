"""Shared parts of the verbs of `lutra`: a client, a database by its name, tables and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from lutra_models.errors import LutraError, printable
from lutra_models.maintenance import duration

from lutra_client.moments import text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from lutra_client.client import Client

NONE = "none"
"""Removes what a verb sets."""
LABEL = "label:"
"""Before the label of the databases that are meant."""
NEAR = 5
"""The most names in a message."""
COMPLETED, COMPLETION_S = 500, 2.0
"""The most names that a shell completes, and the longest time that it waits for them."""


class Named(click.ParamType[str]):
    """The name or the id of a database; a shell completes the names."""

    name = "database"

    def __init__(self, retired: bool = False) -> None:
        self._retired = retired

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """No name if no service answers at once: a person waits at the prompt."""
        from click.shell_completion import CompletionItem

        from lutra_client import contexts
        from lutra_client.client import Client
        from lutra_client.exchange import NEVER

        try:
            at = contexts.current()
            asked = Client(at.url, at.token, ca_file=at.ca_file, timeout_s=COMPLETION_S, retries=NEVER)
            with asked as client:
                found = [d["name"] for d in islice(client.databases.list(retired=self._retired or None), COMPLETED)]
        except (LutraError, ValueError):
            return []
        return [CompletionItem(name) for name in found if name.startswith(incomplete) and name == printable(name)]


Database = click.argument("database", type=Named(), required=False)
Databases = click.argument("database", type=Named(), required=False, metavar="[DATABASE|label:LABEL]")
RetiredDatabase = click.argument("database", type=Named(retired=True), required=False)
Recommendation = click.argument("recommendation", type=Named(), metavar="RECOMMENDATION")
AsJson = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


def within(text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@contextmanager
def correctable() -> Iterator[None]:
    """A refusal, of the service or of this program, ends a verb with one line and the way out, without a traceback."""
    from lutra_client.errors import Unreachable

    try:
        yield
    except Unreachable as error:
        raise click.ClickException(f"{printable(str(error))}: {error.way_out}") from error
    except (LutraError, ValueError) as error:  # the latter: an id that is empty, a token that is none
        raise click.ClickException(printable(str(error))) from error


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with a client of the service as its first argument."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        from lutra_client.client import Client  # and httpx, which no help text needs

        with correctable(), Client.from_environment() as client:
            command(client, *arguments, **options)

    return run


def is_id(word: str, kind: str) -> bool:
    """Whether `word` is an id as the service makes them, such as db_…; a name may begin in the same way."""
    return re.fullmatch(rf"{kind}_[0-9a-z]{{22}}", word) is not None


def database_id(client: Client, database: str | None, retired: bool = False) -> str:
    if database is not None and is_id(database, "db"):
        return database
    known = {d["name"]: d["id"] for d in client.databases.list(retired=retired)}
    if database is None and len(known) == 1:
        return next(iter(known.values()))
    if database in known:
        return known[database]
    kind = "retired database" if retired else "database"
    wanted = f"name a {kind}" if database is None else f"there is no {kind} {printable(database)!r}{_no_id(database)}"
    raise click.ClickException(f"{wanted}: {_near(database or '', known)}")


def named_databases(client: Client, word: str | None) -> dict[str, str]:
    """Name → id of the databases that a person means: one, or with `label:NAME` all that have this label."""
    if word is None or not word.startswith(LABEL):
        of = database_id(client, word)
        return {word or of: of}
    label = word.removeprefix(LABEL)
    found = {d["name"]: d["id"] for d in client.databases.list() if d["label"] == label}
    if not found:
        raise click.ClickException(
            f"no database has the label {printable(label)!r}: `lutra databases label` sets it, `lutra databases list` "
            "shows it"
        )
    return found


def headed(name: str, named: Collection[str], as_json: bool) -> None:
    """The name of a database above what is shown of it, where several are meant."""
    if len(named) > 1 and not as_json:
        click.echo(f"{printable(name)}:")


def printed(answer: Any) -> None:
    """One object as it travels over REST, as JSON on a line."""
    click.echo(json.dumps(text(answer)))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of text under a header, each column as wide as its widest cell."""
    cells = [tuple(header), *(tuple(printable(cell) or "-" for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def echo_table(header: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> None:
    """The table, or the sentence `empty` if there are no rows."""
    for line in table(header, rows) if rows else (empty,):
        click.echo(line)


def minute(moment: datetime | None) -> str:
    """In UTC; empty without one."""
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def span(since: datetime | None, now: datetime) -> str:
    """As in "45 s ago" or "3 d ago"; "never" without a moment."""
    if since is None:
        return "never"
    seconds = max(0.0, (now - since).total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def _no_id(word: str) -> str:
    """For what somebody may have copied in part."""
    kind, low_line, _ = word.partition("_")
    return f" (an id has 22 characters after {kind}_)" if low_line and kind in ("db", "rec", "ts") else ""


def _near(name: str, known: Collection[str]) -> str:
    """The names that somebody may have meant, and how many there are."""
    if not known:
        return "this token reaches none"
    alike = {n.lower(): n for n in sorted(known)}
    within = [n for n in alike if name and name.lower() in n]
    near = list(dict.fromkeys([*get_close_matches(name.lower(), alike, n=NEAR), *within]))[:NEAR]
    told = f"did you mean {printable(', '.join(alike[n] for n in near))}? " if near else ""
    few = len(known) <= NEAR
    reached = printable(", ".join(sorted(known))) if few else f"{len(known)} databases"
    return f"{told}{'This' if told else 'this'} token reaches {reached}"
