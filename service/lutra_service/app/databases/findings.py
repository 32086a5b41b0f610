"""Findings over time: when each was first and last seen, and the accepted risks."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches

from lutra_models.errors import LutraError, NotFound
from lutra_models.symptoms import Diagnosis, Symptom
from lutra_models.symptoms.listed import kinds_of

from lutra_service.app.access import audit
from lutra_service.app.databases import load_hours
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.databases.symptoms import seen
from lutra_service.app.errors import InvalidRequest
from lutra_service.common.actor import current_actor
from lutra_service.db.schema.records import Accepted, Finding
from lutra_service.db.store import Store, UnitOfWork

log = logging.getLogger(__name__)

NONSENSE = (LutraError, ValueError, TypeError, LookupError, ArithmeticError)
"""The errors that an unusual report of a server may cause; the other databases are still checked."""
PAUSE = timedelta(minutes=1)
"""The interval between two checks of a database."""
MINUTES = 10
"""The time span of the windows of a check."""
TOGETHER = 3
"""The number of databases in one round."""
RETURN = timedelta(hours=1)
"""A finding that returns within this time counts as never gone."""
LONGEST_SENTENCE = 2000


@dataclass(frozen=True)
class Look:
    """The findings of a database, and the time of the previous check."""

    database_id: str
    before: datetime | None
    found: Diagnosis | None


def look(store: Store) -> None:
    """One round: a check of the databases that waited longest. After a failed read, a database is checked again a
    minute later.
    """
    for id_ in store.read(lambda unit: unit.databases.to_look_at(unit.now - PAUSE, TOGETHER)):
        looked = store.read(lambda unit, id_=id_: _looked(unit, id_))  # type: ignore[misc]
        store.write(lambda unit, looked=looked: keep(unit, looked))  # type: ignore[misc]


def _looked(unit: UnitOfWork, id_: str) -> Look:
    database = unit.databases.get(id_)
    try:
        return Look(id_, database.looked_at, seen(unit, context_of(unit, database), MINUTES).diagnosis)
    except NONSENSE as error:
        log.warning("%s: its findings cannot be evaluated: %s", id_, error)
        return Look(id_, database.looked_at, None)


def keep(unit: UnitOfWork, looked: Look) -> None:
    """Store the hourly load, and the findings that began, continue and ended, unless another process has checked
    meanwhile.
    """
    before = unit.databases.lock(looked.database_id)
    if before.looked_at != looked.before:
        return
    unit.databases.change(before.id, looked_at=unit.now)
    load_hours.add_new(unit, before.id)
    if looked.found is None or not looked.found.windows:
        return
    known = unit.findings.newest(before.id)
    shown = {s.name: s for s in looked.found.symptoms}
    for name, symptom in shown.items():
        _keep_shown(unit, before.id, known.get(name), symptom)
    for name, finding in known.items():
        if finding.gone_at is None and name not in shown and name not in looked.found.not_judged:
            unit.findings.change(finding.id, gone_at=unit.now)


def _keep_shown(unit: UnitOfWork, database_id: str, last: Finding | None, symptom: Symptom) -> None:
    sentence = symptom.sentence[:LONGEST_SENTENCE]
    if last is not None and (last.gone_at is None or last.gone_at > unit.now - RETURN):
        told = {"kind": symptom.kind, "strength": symptom.strength, "sentence": sentence}
        unit.findings.change(last.id, last_seen=unit.now, gone_at=None, **told)
        return
    id_ = unit.new_id("fnd")
    finding = Finding(id_, database_id, symptom.name, symptom.kind, symptom.strength, sentence, unit.now, unit.now)
    unit.findings.add(finding)


def accept(unit: UnitOfWork, database_id: str, name: str, because: str, until: datetime) -> Accepted:
    """Replaces an earlier acceptance. Raises NotFound, and InvalidRequest for a time in the past."""
    database = unit.databases.lock(database_id)
    kinds = kinds_of(database.engine)
    if name not in kinds:
        near = get_close_matches(name, kinds, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise NotFound(f"no symptom of {database.engine} is called {name[:100]!r}{meant}")
    if until <= unit.now:
        raise InvalidRequest(f"until: {until.isoformat()} is in the past")
    before = _accepted(unit, database_id, name)
    if before is not None:
        unit.accepted.withdraw(before)
    by = current_actor.get().token_name[:200]
    accepted = Accepted(unit.new_id("acc"), database_id, name, kinds[name], because, until, unit.now, by)
    unit.accepted.add(accepted)
    audit.record(unit, "symptom.accept", name[:40], _told(before), _told(accepted), database_id=database_id)
    return accepted


def withdraw(unit: UnitOfWork, database_id: str, name: str) -> Accepted:
    """From now on, the finding counts again. Raises NotFound if it is not accepted."""
    unit.databases.lock(database_id)
    before = _accepted(unit, database_id, name)
    if before is None:
        raise NotFound(f"{database_id}: nobody has accepted {name[:100]!r}")
    unit.accepted.withdraw(before)
    audit.record(unit, "symptom.withdraw", name[:40], _told(before), None, database_id=database_id)
    return before


def accepted(unit: UnitOfWork, database_id: str) -> list[Accepted]:
    unit.databases.get(database_id)
    return unit.accepted.of(database_id)


def history(
    unit: UnitOfWork, database_id: str, limit: int, after: str | None, since: datetime | None, gone: bool | None
) -> list[Finding]:
    unit.databases.get(database_id)
    return unit.findings.listed(database_id, limit, after, since, gone)


def _accepted(unit: UnitOfWork, database_id: str, name: str) -> Accepted | None:
    return next((a for a in unit.accepted.of(database_id) if a.name == name), None)


def _told(accepted: Accepted | None) -> dict[str, str] | None:
    if accepted is None:
        return None
    told = asdict(accepted)
    return {"symptom": told["name"], "because": told["because"], "until": accepted.until.isoformat()}
