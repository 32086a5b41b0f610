"""`lutra-agent …`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from lutra_models.aims import Over
from lutra_models.errors import LutraError, printable
from lutra_models.symptoms.listed import FAIL_ON, NOT_JUDGED, fail_on
from lutra_models.verification import ROUNDS

from lutra_agent import __version__
from lutra_agent.commands import LOG

if TYPE_CHECKING:
    from lutra_agent.config.types import Config

DEFAULT_CONFIG = Path("/etc/lutra/agent.toml")
T = TypeVar("T")
LOAD_HELP = "One of the file's [[driver.loads]], as in 'many' or 'many=2'.  [default: all of them]"
ELSEWHERE = "lutra_agent.commands"
"""The group of entry points by which another distribution brings commands."""

with_config: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=DEFAULT_CONFIG,
    show_default=True,
    help="The agent's TOML file.",
)
INTERRUPTED = 130
"""The exit status after Ctrl-C, as a shell's own."""


class NotJudged(click.ClickException):
    """The look failed, which a script must not mistake for a clean result."""

    exit_code = NOT_JUDGED


def _threshold(_context: click.Context, _option: click.Parameter, value: str) -> str:
    try:
        return fail_on(value)
    except ValueError as error:
        raise NotJudged(f"--fail-on: {error}") from error


REPORT = click.Path(dir_okay=False, writable=True, path_type=Path)


def with_report(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a look at a server."""
    for option in (
        click.option(
            "--fail-on",
            default=FAIL_ON,
            show_default=True,
            metavar="KIND|STRENGTH",
            callback=_threshold,
            help="The threshold for exit status 1.",
        ),
        click.option("--junit", type=REPORT, help="Write a JUnit report."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    ):
        command = option(command)
    return command


class Commands(click.Group):
    """Expected failures end with one line, not with a traceback; `lab` comes with lutra-lab."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [*super().list_commands(context), *entry_points(group=ELSEWHERE).names]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        own = super().get_command(context, name)
        if own is not None:
            return own
        for found in entry_points(group=ELSEWHERE, name=name):
            command: click.Command = found.load()
            return command
        if name == "lab":
            raise click.UsageError("`lutra-agent lab` comes with another distribution: pip install lutra-lab")
        return None

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise
        except (LutraError, OSError) as error:
            raise click.ClickException(shown(str(error))) from error


@click.group(cls=Commands)
@click.version_option(__version__)
def main() -> None:
    """Lutra's agent measures a database, applies approved changes, and undoes them."""


@main.command()
@with_config
def run(config_file: Path) -> None:
    """Send measurements and apply approved changes, until SIGTERM or SIGINT."""
    from lutra_agent.runtime.compose import running
    from lutra_agent.runtime.signals import DeferredSignals, Stopped

    config = dialling(config_file)
    signals = DeferredSignals()
    signals.install()
    try:
        with running(config, signals=signals) as loop:
            begins = f"mode {config.agent.mode}, every {config.agent.interval_s:g} s"
            logging.getLogger(__name__).info("%s", "; ".join(filter(None, (begins, loop.pending))))
            loop.run()
    except Stopped:
        logging.getLogger(__name__).info("ended")


@main.command()
@with_config
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(config_file: Path, as_json: bool) -> None:
    """Show what the agent sees, what it may change and what is missing. The exit status is 1 if something is."""
    from lutra_agent.commands.check import examine, show

    found = examine(dialling(config_file, quiet=True))
    click.echo(shown(show(found, as_json)))
    sys.exit(0 if found.complete else 1)


@main.command()
@with_config
@click.option("--seconds", type=click.FloatRange(1, 86400), default=60, show_default=True, help="The time to look.")
@with_report
def symptoms(config_file: Path, seconds: float, as_json: bool, junit: Path | None, fail_on: str) -> None:
    """Show what is wrong with the server, the most harmful first, and what would cure it. This changes nothing.

    The exit status is 1 if there is a finding of KIND or of a worse kind (outage, danger, fault, elsewhere, enough,
    note), or one of at least STRENGTH (0 to 1). It is 2 if something of that kind, or everything, could not be
    judged. Otherwise it is 0. Risks that the file accepts do not count.
    """
    from lutra_agent.commands.symptoms import looked

    try:
        status = looked(dialling(config_file, quiet=True), seconds, as_json, junit, fail_on)
    except (LutraError, OSError) as error:
        raise NotJudged(shown(f"nothing could be judged: {error}")) from error
    sys.exit(status)


@main.command()
@click.argument("url")
@click.option("--seconds", type=click.FloatRange(1, 86400), default=30, show_default=True, help="The time to look.")
@click.option("--html", type=REPORT, help="Write one page that needs no network.")
@with_report
def look(url: str, seconds: float, as_json: bool, junit: Path | None, html: Path | None, fail_on: str) -> None:
    """Show what is wrong with the server at URL, and what would cure it. No file and no service is needed.

    URL begins with the engine's name, as in engine://user@host/database. The password comes from where the engine's
    own clients keep it. The command only reads: it changes nothing, and sends nothing anywhere else.

    The exit status is 1 if there is a finding of KIND or of a worse kind (outage, danger, fault, elsewhere, enough,
    note), or one of at least STRENGTH (0 to 1). It is 2 if something of that kind could not be judged, or if the
    server was not reached. Otherwise it is 0.

    \b
    lutra check engine://user@host/database
    lutra check engine://user@host/database --seconds 300 --html report.html
    """
    from lutra_agent.commands.look.run import Wanted, looked

    logging.basicConfig(level=logging.ERROR)
    ask = partial(click.prompt, hide_input=True, err=True) if sys.stdin.isatty() else None
    try:
        text, status = looked(Wanted(url, seconds, fail_on, as_json, junit, html), tell, ask)
    except (LutraError, OSError) as error:
        raise NotJudged(shown(str(error))) from error
    except KeyboardInterrupt:
        click.echo("\nstopped before the end: nothing was judged, and nothing was changed", err=True)
        sys.exit(INTERRUPTED)
    click.echo(text)
    sys.exit(status)


def tell(line: str) -> None:
    click.echo(shown(line), err=True)


@main.command()
@with_config
@click.option("--to", "target", type=click.Choice(["last-known-good", "baseline"]), default="last-known-good")
@click.option("--restart/--no-restart", default=True, help="Restart the server when a setting needs it.")
@click.option(
    "--reason",
    default="",
    metavar="TEXT",
    help="The reason; the service stores it with the changes that it will not propose again.",
)
def rollback(config_file: Path, target: str, restart: bool, reason: str) -> None:
    """Restore the last-known-good configuration, or the baseline from before the first change.

    This works without the service and while the database is down. The agent is paused afterwards.
    """
    from lutra_agent.commands.rollback import roll_back

    for line in roll_back(dialling(config_file, quiet=True), target.replace("-", "_"), restart, reason):
        click.echo(shown(line))


@main.command()
@with_config
@click.option("--objective", type=click.Choice(["qps", "tps", "p99"]), default="qps", show_default=True)
@click.option("--trials", type=click.IntRange(3, 200), default=20, show_default=True)
@click.option(
    "--verification-rounds",
    type=click.IntRange(0, 100),
    default=ROUNDS,
    show_default=True,
    help="The most rounds of the final verification, in addition to the trials; 0 for no verification.",
)
@click.option("--limit", "limits", multiple=True, metavar="METRIC<=NUMBER", help="As in 'p99_ms<=20' or 'qps>=900'.")
@click.option("--max-changes", type=click.IntRange(1, 500), help="Change at most this many settings.  [default: any]")
@click.option("--load", "loads", multiple=True, metavar="NAME[=WEIGHT]", help=LOAD_HELP)
@click.option(
    "--aim",
    type=click.Choice(get_args(Over)),
    default="weighted",
    show_default=True,
    help="Over several loads: the weighted mean of their gains, or the worst one.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
def tune(
    config_file: Path,
    objective: str,
    trials: int,
    verification_rounds: int,
    limits: tuple[str, ...],
    max_changes: int | None,
    loads: tuple[str, ...],
    aim: str,
    seed: int,
) -> None:
    """Run a tuning session in lab mode: the driver generates the load, the service chooses, this agent applies.

    After its trials the session measures the initial configuration, the rule-based start and the best one alternately,
    and hands over a configuration only if it is certainly better.

    If the file names loads ([[driver.loads]]), each trial is measured under each of them in turn.

    If an agent is already running with the same file, that agent does the work and this command watches.
    """
    from lutra_agent.commands.tune import SessionRequest, limit, run_session, weight

    config = dialling(config_file, quiet=True)
    kept, under = _parsed("--limit", limit, limits), dict(_parsed("--load", weight, loads))
    metric = "p99_ms" if objective == "p99" else objective
    request = SessionRequest(metric, trials, verification_rounds, seed, kept, max_changes, under, aim)
    for line in run_session(config, request):
        click.echo(shown(line))


def _parsed(option: str, parse: Callable[[str], T], texts: Sequence[str]) -> tuple[T, ...]:
    try:
        return tuple(parse(text) for text in texts)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from error


@main.command()
@with_config
def pause(config_file: Path) -> None:
    """Refuse every change from now on; the agent continues measuring. This works without the service."""
    from lutra_agent.state.store import State

    State(configured(config_file, quiet=True).agent.state_dir).pause()
    click.echo("paused: directives are refused until `lutra-agent resume`")


@main.command()
@with_config
def resume(config_file: Path) -> None:
    """Accept changes again."""
    from lutra_agent.state.store import State

    State(configured(config_file, quiet=True).agent.state_dir).resume()
    click.echo("resumed")


def dialling(config_file: Path, quiet: bool = False) -> Config:
    """For a command that needs the database: the file, and a password that can be read. Raises ConfigError."""
    from lutra_agent.files.secrets import secret

    config = configured(config_file, quiet)
    secret(config.database.password_file)
    return config


def configured(config_file: Path, quiet: bool = False) -> Config:
    from lutra_models.log_file import LogHandler

    from lutra_agent.commands.agent_file import load

    handler, shown_ = LogHandler(config_file.parent / LOG), Shown()
    handler.setFormatter(shown_)
    logging.basicConfig(level=logging.WARNING if quiet else logging.INFO, handlers=[handler])
    config = load(config_file)
    shown_.of = f"{config.database}: "
    return config


class Shown(logging.Formatter):
    """Some of the words come from a database or a service. `of` begins each line, and names the writing agent."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(of)s%(name)s: %(message)s")
        self.of = ""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (logging's own name)
        record.of = self.of
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        return shown(super().format(record))


def shown(text: str) -> str:
    """`text` for a terminal, line by line, without characters that a terminal would interpret as commands."""
    return "\n".join(map(printable, text.split("\n")))
