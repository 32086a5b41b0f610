"""Model versions: registered, promoted, rolled back, retired; every step is in the audit trail."""

from __future__ import annotations

import logging
from typing import Any

from lutra_models import __version__
from lutra_models.digest import fingerprint
from lutra_models.errors import InvalidOptions
from lutra_models.gp.documents import Form as Form
from lutra_models.gp.documents import plugged, read
from lutra_models.gp.options import Options
from lutra_models.lifecycle import ModelState

from lutra_service.app.access import audit
from lutra_service.app.access.audit import Action
from lutra_service.app.errors import Conflict
from lutra_service.app.model_versions import comparison
from lutra_service.app.model_versions.comparison import suite_of
from lutra_service.app.model_versions.serving import former, packages_of, require_whole
from lutra_service.common.actor import SERVICE, current_actor
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Job, ModelJob, ModelVersion
from lutra_service.db.store import UnitOfWork
from lutra_service.workers.maker import MakesWorker
from lutra_service.workers.protocol import WorkerLost

MOST_VERSIONS = 1000
MOST_SHADOWS = 4
"""Each fits a model for every recommendation."""


def verify_importable(options: Options, make_worker: MakesWorker) -> None:
    """Raises InvalidOptions for parts that cannot be imported, with the error of each."""
    if not plugged(options):
        return
    worker = make_worker()
    try:
        broken = worker.run("broken_parts", {"options": options.to_dict()})["broken"]
    except WorkerLost as error:
        names = ", ".join(f"{one.part.option} = {one.name!r}" for one in plugged(options))
        broken = [f"{names} cannot be imported: {error}"]
    finally:
        worker.close()
    if broken:
        raise InvalidOptions("; ".join(map(str, broken))[:2000])


log = logging.getLogger(__name__)


def importable(text: str, form: Form, make_worker: MakesWorker) -> Options:
    """An options document, parsed, whose parts can be imported. Raises InvalidOptions."""
    options = read(text, form)
    verify_importable(options, make_worker)
    return options


def register(unit: UnitOfWork, name: str, options: Options, note: str = "") -> ModelVersion:
    """A new candidate. Raises Conflict if there are too many versions."""
    models = unit.models.listed(MOST_VERSIONS, None)
    if len(models) >= MOST_VERSIONS:
        raise Conflict(f"there are {len(models)} model versions, the maximum")
    packages = packages_of(options)
    made = unit.models.add(
        ModelVersion(
            id=unit.new_id("mv"),
            name=name,
            note=note,
            state=ModelState.CANDIDATE,
            created_at=unit.now,
            created_by=current_actor.get().token_name[:200] or SERVICE,
            package_version=__version__,
            packages=packages,
            options=options.to_dict(),
            fingerprint=_fingerprint(options, packages),
        )
    )
    told = {"name": name, "fingerprint": made.fingerprint, "packages": packages, "state": made.state}
    audit.record(unit, "model.register", made.id, None, told, database_id=None)
    return made


def promote(unit: UnitOfWork, id_: str, by_rule: bool = False) -> ModelVersion:
    """It serves from now on, in every process. Raises IllegalTransition, and MissingExtension if a package is missing.

    Raises Conflict for one that needs a package and has not passed the conformance suite; with `by_rule`, for one that
    is not shown to be better than the champion (`compared.beside_champion`) as well.
    """
    version = unit.models.get(id_)
    require_whole(version)
    _require_suite(unit, version)
    before = unit.models.champion()
    if before.id == id_:
        raise Conflict(f"{id_} is already the champion")
    shown = _require_better(unit, version) if by_rule else {}
    unit.models.step(before, ModelState.RETIRED, retired_at=unit.now)
    values = {"former_id": before.id, "promoted_at": unit.now, "retired_at": None, "shadow": False}
    after = unit.models.step(version, ModelState.CHAMPION, **values)
    _changed(unit, "model.promote", version, after, former=before.id, **shown)
    return after


def roll_back(unit: UnitOfWork) -> ModelVersion:
    """The previous champion serves again. Raises Conflict if there was none, and MissingExtension."""
    champion = unit.models.champion()
    before = next((v for v in former(unit, champion) if v.id != champion.id), None)
    if before is None:
        raise Conflict(f"{champion.id} is the shipped version: there is no earlier champion")
    require_whole(before)
    unit.models.step(champion, ModelState.RETIRED, retired_at=unit.now)
    after = unit.models.step(before, ModelState.CHAMPION, promoted_at=unit.now, retired_at=None)
    _changed(unit, "model.rollback", before, after, instead_of=champion.id)
    return after


def retire(unit: UnitOfWork, id_: str) -> ModelVersion:
    """A candidate that is no longer needed. Raises IllegalTransition, and Conflict for the champion."""
    version = unit.models.get(id_)
    if version.state == ModelState.CHAMPION:
        raise Conflict(f"{id_} is the champion: promote a different version, or roll back")
    after = unit.models.step(version, ModelState.RETIRED, retired_at=unit.now, shadow=False)
    unit.jobs.cancel(unit.model_jobs.end_open(id_, "the version was retired", unit.now))
    _changed(unit, "model.retire", version, after)
    return after


def set_shadow(unit: UnitOfWork, id_: str, on: bool) -> ModelVersion:
    """Let a candidate predict beside the champion, or end that. Raises MissingExtension; Conflict for a version that is
    not a candidate or has not passed the conformance suite, and if too many run in the shadow.
    """
    version = unit.models.get(id_)
    if on and version.state != ModelState.CANDIDATE:
        raise Conflict(f"{id_} is {version.state}; only a candidate can run in the shadow")
    if on:
        require_whole(version)
        _require_suite(unit, version)
        others = [v.id for v in unit.models.shadows() if v.id != id_]
        if len(others) >= MOST_SHADOWS:
            raise Conflict(f"{', '.join(others)} already run in the shadow, and at most {MOST_SHADOWS} can: end one")
    if version.shadow != on:
        unit.models.change(id_, shadow=on)
        _changed(unit, "model.shadow", version, unit.models.get(id_))
    return unit.models.get(id_)


def end_shadow(unit: UnitOfWork, id_: str, why: str) -> None:
    """Stop the shadow of a version whose computations do harm."""
    version = unit.models.get(id_)
    if version.shadow:
        unit.models.change(id_, shadow=False)
        unit.jobs.cancel(unit.model_jobs.end_open(id_, why, unit.now, kind="shadow"))
        log.warning("%s no longer runs in the shadow: %s", id_, why)
        _changed(unit, "model.shadow", version, unit.models.get(id_), why=why)


def _require_suite(unit: UnitOfWork, version: ModelVersion) -> None:
    """What an outsider wrote serves, or runs in the shadow, only after the suite that ours passes."""
    suite = suite_of(unit, version)
    if not suite.passed:
        raise Conflict(f"{version.id} needs {_named(version)}, and {suite.sentence}")


def _require_better(unit: UnitOfWork, version: ModelVersion) -> Document:
    """What showed that it is better, for the audit trail."""
    beside = comparison.beside_champion(unit, version)
    assert beside is not None
    if not beside.decision.promotes:
        raise Conflict(f"{version.id} is not shown to be better than {beside.champion}: {beside.decision.why}")
    return {"by_rule": beside.decision.why}


def _named(version: ModelVersion) -> str:
    return ", ".join(f"{p['name']} {p['version']}" for p in version.packages.values())


def _fingerprint(options: Options, packages: Document) -> str:
    return fingerprint([options.to_dict(), packages]) if packages else options.fingerprint


def _changed(unit: UnitOfWork, action: Action, before: ModelVersion, after: ModelVersion, **told: Any) -> None:
    states = ({"state": v.state, "shadow": v.shadow} for v in (before, after))
    was, now = states
    audit.record(unit, action, after.id, was, {**now, **told}, database_id=None)


def begin_shadows(unit: UnitOfWork, recommendation: Recommendation) -> None:
    """Let every candidate in the shadow predict the effect of `recommendation`, which was just proposed."""
    if recommendation.proposal is None or not recommendation.proposal.predictions:
        return
    for version in unit.models.shadows():
        job = ModelJob(
            id=unit.new_id("job"),
            model_id=version.id,
            kind="shadow",
            state="waiting",
            created_at=unit.now,
            recommendation_id=recommendation.id,
        )
        unit.model_jobs.add(job)
        unit.jobs.add(Job(job.id, "shadow", unit.now))
