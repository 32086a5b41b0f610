"""`lutra doctor`: whether everything is in place, and the way out where it is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from importlib.metadata import version

import click
from lutra_models.errors import LutraError, printable

from lutra_client import contexts
from lutra_client.client import Client
from lutra_client.commands.terminal import AsJson, printed, span
from lutra_client.contexts import Context
from lutra_client.errors import Forbidden, Problem, Unauthorized, Unreachable
from lutra_client.schemas import DatabaseAnswer

LARGEST_OFFSET = timedelta(seconds=30)
EXACT = timedelta(seconds=2)
"""The service tells its time in whole seconds, and the newest at most a second late."""
LARGEST_AGE = timedelta(minutes=5)
"""An agent that is well reports at least this often."""


@dataclass(frozen=True)
class Check:
    """`way_out` is empty for a check that passed."""

    name: str
    found: str
    way_out: str = ""

    @property
    def passed(self) -> bool:
        return not self.way_out


@click.command()
@AsJson
def doctor(as_json: bool) -> None:
    """Check the service, its schema and version, the token, the clocks, and every agent's newest report.

    The exit status is 1 if a check failed. Each failed check names the way out.

    \b
    lutra doctor
    """
    checks = list(examined())
    for check in checks:
        if as_json:
            printed({"check": check.name, "passed": check.passed, "found": check.found, "way_out": check.way_out})
        else:
            click.echo(printable(f"{'ok    ' if check.passed else 'FAILED'}  {check.name}: {check.found}"))
            if not check.passed:
                click.echo(printable(f"        → {check.way_out}"))
    sys.exit(0 if all(check.passed for check in checks) else 1)


def examined() -> Iterator[Check]:
    """The checks in order; the rest is left out after one without which nothing else can be asked."""
    try:
        context = contexts.current()
        if context.token is None:
            yield Check("context", f"no token for {context.url}", "`lutra up`, `lutra login URL`, or set LUTRA_TOKEN")
            return
        yield Check("context", f"{context.name}, {context.url}")
        with Client(context.url, context.token, ca_file=context.ca_file) as client:
            yield from _of_service(client, context)
    except Unreachable as error:
        local = " (`lutra up` starts it if it runs on this machine)"
        yield Check("service", str(error), f"{error.way_out}{local}")
    except (LutraError, ValueError) as error:
        yield Check("context", str(error), "correct the address or the token: `lutra login URL`")


def _of_service(client: Client, context: Context) -> Iterator[Check]:
    now = datetime.now(UTC)
    yield _version(client.health.check_alive().get("version", "?"))
    yield _ready(client)
    # The typed call leaves the headers of an answer out.
    yield _clocks(client.driver.http.get("/healthz").headers.get("date"), now)
    scope = _scope(client, context)
    yield scope
    if scope.passed:
        yield from _agents(list(client.databases.list()), now)


def _version(theirs: str) -> Check:
    own = version("lutra-client")
    if theirs == own:
        return Check("version", f"service and program are {own}")
    return Check(
        "version", f"the service is {theirs}, this program {own}", "install the same version of lutra on both sides"
    )


def _ready(client: Client) -> Check:
    try:
        return Check("schema", f"the service is {client.health.check_ready()['status']}")
    except Problem as error:
        return Check(
            "schema",
            f"the service cannot use its database: {error.detail}",
            "start its database, or run `lutra migrate` there; the service's log has the reason (`lutra logs`)",
        )


def _clocks(theirs: str | None, now: datetime) -> Check:
    if theirs is None:
        return Check("clocks", "the service's answer does not contain its time")
    offset = parsedate_to_datetime(theirs) - now
    told = f"the service's clock differs by {abs(offset.total_seconds()):.0f} s"
    if abs(offset) <= EXACT:
        return Check("clocks", "the service and this program have the same time")
    if abs(offset) <= LARGEST_OFFSET:
        return Check("clocks", told)
    return Check("clocks", told, "synchronise both clocks (`timedatectl set-ntp true`)")


def _scope(client: Client, context: Context) -> Check:
    """By what the service lets it read: nothing is changed to find out."""
    try:
        client.tokens.list_all(limit=1).first()
        return Check("token", "it has the scope admin")
    except Forbidden:
        pass
    except Unauthorized:
        return Check("token", "the service does not accept it", f"`lutra login {context.url}` with a valid token")
    try:
        client.databases.list(limit=1).first()
    except Forbidden as error:
        return Check("token", error.detail, "`lutra login URL` with a token of the scope read, operate or admin")
    return Check("token", "it may read; tokens and the whole audit trail need the scope admin")


def _agents(found: list[DatabaseAnswer], now: datetime) -> Iterator[Check]:
    if not found:
        yield Check("agents", "no database is registered yet (`lutra add URL` adds one)")
    yield from (_agent(database, now) for database in found)


def _agent(database: DatabaseAnswer, now: datetime) -> Check:
    name, reported, agent = f"agent of {database['name']}", database["last_report_at"], database["agent"]
    if reported is None or agent is None:
        return Check(name, "it has never reported", "start it on the database's host: `lutra-agent run`")
    told = f"{agent.get('version') or '?'}, reported {span(reported, now)}"
    failing: tuple[tuple[bool, str], ...] = (
        (now - reported > LARGEST_AGE, "see its log on the database's host: `lutra-agent check`, and restart it"),
        (bool(agent.get("problems")), "; ".join(agent.get("problems", ()))),
    )
    way_out = next((way for failed, way in failing if failed), "")
    return Check(name, told, way_out)
