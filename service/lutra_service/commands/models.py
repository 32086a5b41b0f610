"""`lutra models …`: the serving version, and the candidates."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from lutra_models.errors import printable

from lutra_service.commands.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Callable

    from lutra_service.app.model_versions.versions import Form
    from lutra_service.common.settings import Settings
    from lutra_service.db.schema.records import ModelJob, ModelVersion
    from lutra_service.db.store import Store, UnitOfWork
POLL_S = 0.5

PAGE = 500


@click.group(cls=Verbs)
def models() -> None:
    """Manage model versions: the options of the recommender, and which version serves.

    A version is a candidate, the champion or retired. The champion computes every recommendation; a candidate can run
    in its shadow. A new champion takes effect from the next recommendation, in all processes of the service.

    \b
    lutra models options >mine.toml         print the champion's options, with meanings and ranges
    lutra models register mine.toml --name "wider priors"
    lutra models score mv_…                 score a version on past sessions
    lutra models shadow mv_…                let a version predict beside the champion
    lutra models show mv_…                  show its scores beside the champion's
    lutra models promote --by-rule mv_…     let it serve if it is shown to be better
    lutra models rollback                   let the previous champion serve again
    lutra models retire mv_…                end a candidate
    lutra models list                       list all versions
    """


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def list_models(as_json: bool) -> None:
    """List the model versions, newest first. An asterisk marks the serving version."""
    from lutra_service.app.model_versions.comparison import Suite, suite_of
    from lutra_service.app.model_versions.serving import missing, serving
    from lutra_service.commands.opening import opened

    def read(unit: UnitOfWork) -> tuple[list[tuple[ModelVersion, Suite]], str]:
        return [(v, suite_of(unit, v)) for v in unit.models.listed(PAGE, None)], serving(unit).version.id

    with opened() as store:
        found, served = store.read(read)
    for version, suite in found:
        gone = "; ".join(missing(version))
        if as_json:
            told = {"id": version.id, "name": version.name, "state": version.state, "shadow": version.shadow}
            told |= {"suite": suite.state, "faults": list(suite.faults)}
            click.echo(json.dumps({**told, "serves": version.id == served, "missing": gone}))
        else:
            notes = [version.state, *(["in the shadow"] if version.shadow else []), *([gone] if gone else [])]
            notes += [] if suite.passed else [f"suite {suite.state.replace('_', ' ')}"]
            mark = "*" if version.id == served else " "
            click.echo(f"{mark} {version.id}  {printable(version.name)}  {', '.join(notes)}")


@models.command()
@click.argument("model_id", required=False)
def options(model_id: str | None) -> None:
    """Print the options of MODEL_ID (mv_…), or of the champion, as TOML.

    A comment above each option gives its meaning, its range, and its default if that differs from the value.
    `register` reads the same document; options that it does not name keep their default.
    """
    from lutra_service.app.model_versions.serving import document
    from lutra_service.commands.opening import opened

    with opened() as store:
        text = store.read(lambda u: document(u.models.champion() if model_id is None else u.models.get(model_id)))
    click.echo(text, nl=False)


@models.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--name", required=True, help="A name for the version.")
@click.option("--note", default="", help="The reason, in one sentence.")
def register(file: Path, name: str, note: str) -> None:
    """Register the options in FILE (TOML, or JSON if it ends in .json) as a candidate, and print its id."""
    from lutra_service.app.model_versions import versions
    from lutra_service.commands.opening import opened
    from lutra_service.common.settings import Settings
    from lutra_service.workers.maker import candidate_worker

    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is not a text file: {error}") from error
    form: Form = "json" if file.suffix.lower() == ".json" else "toml"
    settings = Settings()
    with opened(settings) as store:
        options = versions.importable(text, form, partial(candidate_worker, settings))
        made = store.write(lambda unit: versions.register(unit, name[:200], options, note[:1000]))
    click.echo(made.id)


@models.command()
@click.argument("model_id")
def score(model_id: str) -> None:
    """Score MODEL_ID (mv_…) on past sessions, one after the other.

    The model is fitted to the first trials of each session and predicts the later ones. A service that runs on the
    same database takes part in the work. An interrupted scoring continues with the next call.
    """
    from lutra_service.commands.opening import opened
    from lutra_service.common.settings import Settings

    settings = Settings()
    with opened(settings) as store:
        scored(store, settings, model_id, click.echo)
        click.echo(store.read(lambda unit: _side_by_side(unit, model_id)))


@models.command()
@click.argument("model_id")
def show(model_id: str) -> None:
    """Show MODEL_ID (mv_…) beside the champion: the result of the conformance suite, both scorecards, the results of
    the shadow, each comparison with its interval, and whether the rule promotes the version."""
    from lutra_service.commands.opening import opened

    with opened() as store:
        version = store.read(lambda unit: unit.models.get(model_id))
        _say(version)
        if version.note:
            click.echo(printable(version.note))
        click.echo(store.read(lambda unit: _side_by_side(unit, model_id)))


@models.command()
@click.argument("model_id")
@click.option("--off", is_flag=True, help="Stop the shadow. Earlier predictions are kept.")
def shadow(model_id: str, off: bool) -> None:
    """Let the candidate MODEL_ID (mv_…) predict beside the champion, for each later recommendation.

    It does not change recommendations. `lutra models show` compares both on the measurements that follow.
    """
    from lutra_service.app.model_versions import versions
    from lutra_service.commands.opening import opened

    with opened() as store:
        version = store.write(lambda unit: versions.set_shadow(unit, model_id, not off))
    runs = "runs" if version.shadow else "does not run"
    click.echo(f"{version.id} ({printable(version.name)}) {runs} in the shadow")


@models.command()
@click.argument("model_id")
@click.option("--by-rule", is_flag=True, help="Promote only if `lutra models show` says that the version is better.")
def promote(model_id: str, by_rule: bool) -> None:
    """Let MODEL_ID (mv_…) serve from the next recommendation on."""
    from lutra_service.app.model_versions import versions
    from lutra_service.commands.opening import opened

    with opened() as store:
        _say(store.write(lambda u: versions.promote(u, model_id, by_rule)))


@models.command()
def rollback() -> None:
    """Let the previous champion serve again."""
    from lutra_service.app.model_versions import versions
    from lutra_service.commands.opening import opened

    with opened() as store:
        _say(store.write(versions.roll_back))


@models.command()
@click.argument("model_id")
def retire(model_id: str) -> None:
    """Retire the candidate MODEL_ID (mv_…). It can still be promoted later."""
    from lutra_service.app.model_versions import versions
    from lutra_service.commands.opening import opened

    with opened() as store:
        _say(store.write(lambda u: versions.retire(u, model_id)))


def _side_by_side(unit: UnitOfWork, model_id: str) -> str:
    """The suite, the scorecards of this version and of the champion, what the shadow saw, and what follows."""
    from lutra_models.scores.card import PLAYED, SHOWN

    from lutra_service.app.model_versions.comparison import in_shadow, suite_of

    version, champion = unit.models.get(model_id), unit.models.champion()
    suite, seen = suite_of(unit, version), in_shadow(unit, model_id)
    lines = [f"conformance suite: {suite.state.replace('_', ' ')}", *(f"  {printable(f)}" for f in suite.faults)]
    cards = [v.scorecard or {} for v in (version, champion)]
    lines.append(f"{'on past sessions':22}{model_id:>28}{'champion':>14}")
    lines += [_row(name, *(card.get(name) for card in cards)) for name in (*SHOWN, *PLAYED)]
    lines.append(f"{'sessions':22}{cards[0].get('sessions', '-'):>28}{cards[1].get('sessions', '-'):>14}")
    if seen is not None:
        lines.append(f"{'in the shadow':22}{model_id:>28}{'served':>14}")
        names = [name for name in seen["candidate"] if name != "n"]
        lines += [_row(name, seen["candidate"][name], seen["served"][name]) for name in names]
        lines.append(f"{'readings':22}{seen['candidate']['n']:>28}{seen['served']['n']:>14}")
    return "\n".join([*lines, *_beside(unit, version)])


def _beside(unit: UnitOfWork, version: ModelVersion) -> list[str]:
    """What each source says of it beside the champion, and whether the rule promotes it."""
    from lutra_service.app.model_versions.comparison import beside_champion

    found = beside_champion(unit, version)
    if found is None:
        return []
    changed = ", ".join(found.changed) or "nothing"
    verdict = "promotes it" if found.decision.promotes else "does not promote it"
    return [
        f"beside {found.champion}, from which it differs in: {changed}",
        *(f"  {j.sentence}" for j in found.judged),
        f"the rule {verdict}: {printable(found.decision.why)}",
    ]


def _row(name: str, one: float | None, other: float | None) -> str:
    return f"{name:22}{_number(one):>28}{_number(other):>14}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _say(version: ModelVersion) -> None:
    click.echo(f"{version.id} ({printable(version.name)}) is {version.state}")


def scored(store: Store, settings: Settings, model_id: str, say: Callable[[str], None]) -> None:
    """Compute the scorecard to its end, and `say` how far it is. Raises ClickException if it fails.

    Its steps run in a separate worker, in addition to a service's.
    """
    from lutra_service.app.jobs import model_jobs
    from lutra_service.app.jobs.executor import Compute

    job = store.write(lambda unit: model_jobs.start(unit, model_id))
    id_ = job.id
    compute = Compute(store, settings, pools=[model_jobs.POOL], only=id_)
    compute.start()
    try:
        while job.state == "waiting" and not compute.unavailable:
            time.sleep(POLL_S)
            before, job = job, store.read(lambda unit: unit.model_jobs.get(id_))
            for done in range(max(1, len(before.results)), len(job.results)):
                say(_progress(job, done))
    finally:
        compute.stop()
    if job.state == "waiting":
        raise click.ClickException(f"nothing could compute it: {compute.unavailable}")
    if job.error is not None:
        raise click.ClickException(f"{model_id} could not be scored: {job.error}")


def _progress(job: ModelJob, done: int) -> str:
    last = job.results[done]
    told = last.get("failed") or f"log score {last['served']['log_score']:.3f}"
    return f"{done} of {len(job.sessions)}: {last['session']}: {told}"
