"""`lutra next`, `approve` and the other verbs of a decision."""

from __future__ import annotations

from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Any

import click
from lutra_models.errors import printable

from lutra_client.commands import shown
from lutra_client.commands.sessions import OPEN, opened
from lutra_client.commands.signs import alive, stoppable
from lutra_client.commands.terminal import AsJson, Database, Named, Recommendation, asking, database_id, is_id, printed

if TYPE_CHECKING:
    from lutra_client.client import Client
    from lutra_client.schemas import RecommendationAnswer

WINDOWS = 12
"""The newest windows, whose medians are shown beside the prediction."""
QUIET_S = 3.0
"""After this time a waiting person gets a message."""
OPENED = "it looks for a lower p99_ms, and each change waits for your decision"
TO_COME = ("observing", "computing", "approved", "applied")
WAITING = ("proposed",)
ACTIVE = ("applied", "confirmed")
NO_CHANGE = ("observing", "computing", "unneeded")
PATIENCE_S = 3600.0

Because = click.option("--because", help="The reason. Stored, and shown when Lutra declines to propose it again.")


@click.command("next")
@Database
@AsJson
@asking
def next_(client: Client, database: str | None, as_json: bool) -> None:
    """Ask for the next recommendation, wait for it, and show it.

    If no session is open, the command opens one that lowers p99_ms by changes without a restart. Each change waits for
    your decision.

    \b
    lutra next shop
    """
    of = database_id(client, database)
    newest = client.sessions.list(of, limit=1).first()
    if newest is None or newest["state"] not in OPEN:
        made = opened(client, of)
        click.echo(f"opened {printable(made['id'])}: {OPENED}", err=True)
    with stoppable(f"stopped waiting; the service goes on, and `lutra next {printable(database or of)}` continues"):
        asked = _asked(client, of)
    _show(client, asked, as_json)
    if asked["state"] == "observing" and asked["session"] is not None and not as_json:
        click.echo(shown.session(client.sessions.get(asked["session"])))


def _asked(client: Client, of: str) -> RecommendationAnswer:
    """The next recommendation, waited for."""
    from lutra_client.waiting import LONGEST_WAIT_S

    asked = client.recommendations.ask(of, wait_s=QUIET_S)
    if asked["state"] in TO_COME and not asked["waits"]:
        with alive(f"{_id(asked)} is {printable(asked['state'])}; waiting up to a minute for the next one"):
            asked = client.recommendations.ask(of, wait_s=LONGEST_WAIT_S)
    if asked["state"] == "computing":
        with alive(f"{_id(asked)} is being computed"):
            asked = client.recommendations.wait(asked["id"])
    return asked


@click.command()
@Recommendation
@AsJson
@asking
def show(client: Client, recommendation: str, as_json: bool) -> None:
    """Show a recommendation: its changes, the reasons for and against them, the prediction and the outcome.

    \b
    lutra show shop
    lutra show rec_…
    """
    _show(client, client.recommendations.get(named(client, recommendation)), as_json)


@click.command()
@Recommendation
@click.argument("settings", nargs=-1)
@click.option("--because", help="With SETTINGS: the reason for leaving out the others.")
@click.option("--wait", is_flag=True, help="Wait until it is measured, and show its effect.")
@AsJson
@asking
def approve(
    client: Client, recommendation: str, settings: tuple[str, ...], because: str | None, wait: bool, as_json: bool
) -> None:
    """Approve a recommendation, or only its changes of these SETTINGS. The agent then applies it.

    \b
    lutra approve shop
    lutra approve shop work_mem max_wal_size --because "the others on Sunday"
    """
    part: Any = {"settings": list(settings), "reason": because} if settings else {}
    made = client.recommendations.approve(named(client, recommendation, WAITING), **part)
    if wait:
        made = _measured(client, made)
    _show(client, made, as_json)


@click.command()
@Recommendation
@Because
@AsJson
@asking
def reject(client: Client, recommendation: str, because: str | None, as_json: bool) -> None:
    """Reject a recommendation. It is not proposed again until the circumstances change.

    \b
    lutra reject shop --because "not before the sale"
    """
    made = client.recommendations.reject(named(client, recommendation, WAITING), reason=because)
    _show(client, made, as_json)


@click.command()
@Recommendation
@Because
@AsJson
@asking
def rollback(client: Client, recommendation: str, because: str | None, as_json: bool) -> None:
    """Restore the settings from before a recommendation. Its session pauses; `lutra sessions resume` continues it.

    \b
    lutra rollback shop --because "the night jobs became slower"
    """
    made = client.recommendations.roll_back(named(client, recommendation, ACTIVE), reason=because)
    _show(client, made, as_json)


@click.command("what-if")
@click.argument("database", type=Named())
@click.argument("settings", nargs=-1, required=True, metavar="SETTING=VALUE …")
@AsJson
@asking
def what_if(client: Client, database: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Predict the effect of settings, merged with the active ones. Nothing is changed.

    The service can answer once a model of the database has been fitted.

    \b
    lutra what-if shop work_mem=64MB
    """
    asked: Any = dict(_pair(word) for word in settings)
    answer = client.predictions.predict(database_id(client, database), settings=asked)
    if as_json:
        printed(answer)
    else:
        click.echo(shown.predictions(answer))


def named(client: Client, word: str, states: tuple[str, ...] | None = None) -> str:
    """The id of a recommendation: `word` itself, or that of the newest one of the database of this name which is in one
    of `states`.
    """
    if is_id(word, "rec") or not word:
        return word
    of = database_id(client, word)
    found = client.recommendations.list(of)
    wanted = next((r for r in found if (r["state"] in states if states else r["state"] not in NO_CHANGE)), None)
    if wanted is None:
        kind = f"is {' or '.join(states)}" if states else "has changes"
        raise click.ClickException(f"no recommendation of {printable(word)} {kind}: ask with `lutra next`")
    return wanted["id"]


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise click.UsageError(f"{printable(word)} is not SETTING=VALUE, such as work_mem=64MB")
    return name, value


def _measured(client: Client, made: RecommendationAnswer) -> RecommendationAnswer:
    why = f", and waits: {printable(made['waits'])}" if made["waits"] else ""
    left = f"{_id(made)} is still approved; to undo it: `lutra rollback {_id(made)}`"
    with stoppable(left), alive(f"{_id(made)} is approved{why}; waiting until it is measured"):
        return client.recommendations.wait(made["id"], until="measured", timeout_s=PATIENCE_S)


def _id(found: RecommendationAnswer) -> str:
    return printable(found["id"])


def _show(client: Client, found: RecommendationAnswer, as_json: bool) -> None:
    if as_json:
        printed(found)
    else:
        show_recommendation(client, found)


def show_recommendation(client: Client, found: RecommendationAnswer) -> None:
    """With the newest readings beside the prediction, and the commands of the decision, while it waits for one."""
    click.echo(shown.recommendation(found, _measured_now(client, found) if found["state"] == "proposed" else None))
    if found["state"] == "proposed":
        click.echo(f"\nlutra approve {_id(found)} [SETTING …], or lutra reject {_id(found)}")


def _measured_now(client: Client, found: RecommendationAnswer) -> dict[str, float]:
    """By metric that is predicted, the median of the newest windows that have it."""
    wanted = list(found["predictions"] or ())
    if not wanted:
        return {}
    newest = list(islice(client.databases.list_windows(found["database"], limit=WINDOWS, metric=wanted), WINDOWS))
    read = {name: [w["metrics"][name] for w in newest if name in w["metrics"]] for name in wanted}
    return {name: median(values) for name, values in read.items() if values}
