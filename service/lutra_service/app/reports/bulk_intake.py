"""Reports without further consequences: many of them are stored in one transaction.

Most reports are of this kind. Reports that may have consequences go through `intake`, and so do refused ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lutra_models import serial
from lutra_models.catalog.readable import readable
from lutra_models.errors import InvalidReport
from lutra_models.wire import Receipt, Report

from lutra_service.app.errors import DatabaseRetired, NameTaken
from lutra_service.app.reports import reporters
from lutra_service.app.reports.arrival import database_facts, is_latest, row
from lutra_service.app.reports.configurations import Configurations, configuration, contents
from lutra_service.app.tuning.deliver.directive_holder import Holder
from lutra_service.app.tuning.observe import judge
from lutra_service.common.documents import Document
from lutra_service.common.limits import REPORT_BYTES
from lutra_service.db.repositories.bulk import Kept, Key
from lutra_service.db.repositories.ledger import size
from lutra_service.db.schema.records import Database
from lutra_service.db.schema.storable import Written, dumps
from lutra_service.db.store import UnitOfWork

MOST_BYTES = REPORT_BYTES // 2
"""Larger reports go through `intake`, which checks the exact limit."""


@dataclass(frozen=True)
class Arrival:
    """A report, and the database whose agent sent it."""

    database_id: str
    report: Report

    @property
    def key(self) -> Key:
        return self.database_id, self.report.settings_hash


@dataclass(frozen=True)
class Plain:
    """An arrival that has no consequences. `newest`: nothing later was seen of its agent or its database."""

    arrival: Arrival
    database: Database
    settings: Kept
    newest: bool

    @property
    def settings_key(self) -> tuple[object, ...]:
        """Settings that were deleted and are reported again count as different."""
        return *self.arrival.key, self.settings.first_seen_at


def accept(unit: UnitOfWork, arwelcome: Sequence[Arrival], known: Configurations) -> list[Receipt | None]:
    """The receipts of stored reports; None for reports that `intake` has to store.

    At most one arrival of a database.
    """
    plain = _plain(unit, [a for a in arwelcome if _is_bare(a.report)])
    configurations = _configurations(unit, list(plain.values()), known)
    rows = {id_: _row(unit, plain[id_], configuration) for id_, configuration in configurations.items()}
    facts = {id_: _facts(unit, plain[id_]) for id_ in rows}
    stored = {id_: plain[id_] for id_ in rows if size(rows[id_]) + size(facts[id_]) <= MOST_BYTES}
    if stored:
        unit.bulk.add([rows[id_] for id_ in stored])
        unit.bulk.learn({id_: facts[id_] for id_, p in stored.items() if p.newest})
    return [Receipt(rules=stored[a.database_id].database.rules) if a.database_id in stored else None for a in arwelcome]


def _is_bare(report: Report) -> bool:
    """Whether it holds nothing but a window's metrics and what the agent sees of its server."""
    more = report.settings is not None or report.measures is not None or report.failure is not None
    return not (more or report.outcomes or report.events or report.rolled_back)


def _plain(unit: UnitOfWork, arwelcome: Sequence[Arrival]) -> dict[str, Plain]:
    if not arwelcome:
        return {}
    databases = unit.bulk.lock(a.database_id for a in arwelcome)
    kept = unit.bulk.kept([a.key for a in arwelcome])
    busy = unit.bulk.busy(databases, unit.now - judge.RECENT, judge.ENOUGH)
    found: dict[str, Plain] = {}
    for arrival in arwelcome:
        database, settings = databases.get(arrival.database_id), kept.get(arrival.key)
        if database is None or settings is None or database.id in busy or arrival.report.engine != database.engine:
            continue
        newest = _seen(unit, database, arrival.report)
        if _is_refused(database, arrival.report, unit.now):
            continue
        if newest is not None and not unit.ledger.seconds_until_room(database.id):
            latest = newest and is_latest(arrival.report, database, unit.now)
            if latest and arrival.report.settings_hash != database.settings_hash:
                continue  # somebody may have changed them
            found[database.id] = Plain(arrival, database, settings, latest)
    return found


def _seen(unit: UnitOfWork, database: Database, report: Report) -> bool | None:
    """Whether it is its agent's newest; None if it was stored before."""
    if database.reporter == str(Holder(report.agent, report.epoch)):
        newest = database.reporter_sequence
        if newest is not None and report.sequence > newest:
            return True
    of_agent = database.id, report.agent, report.epoch
    if unit.reports.is_stored(*of_agent, report.sequence):
        return None
    newest = unit.reports.newest_sequence(*of_agent)
    return newest is None or report.sequence > newest


def _is_refused(database: Database, report: Report, now: datetime) -> bool:
    """Whether `intake` refuses it: its database is retired, or another agent reports under its name."""
    try:
        reporters.verify_welcome(database, Holder(report.agent, report.epoch), now, report)
    except (DatabaseRetired, NameTaken):
        return True
    return False


def _configurations(unit: UnitOfWork, plain: Sequence[Plain], configurations: Configurations) -> dict[str, Written]:
    """By database. One that the catalogue refuses is left out."""
    found = {p.database.id: configurations.find(p.arrival.report, p.settings_key) for p in plain}
    missing = [p for p in plain if found[p.database.id] is None]
    settings = unit.bulk.settings([p.arrival.key for p in missing])
    for each in missing:
        found[each.database.id] = _read(each, settings, configurations)
    return {id_: written for id_, written in found.items() if written is not None}


def _read(plain: Plain, settings: Mapping[Key, str], configurations: Configurations) -> Written | None:
    report, text = plain.arrival.report, settings[plain.arrival.key]
    name = contents(text)
    written = configurations.find(report, name)
    if written is None:
        found = readable(report.engine, serial.settings_from_dict(json.loads(text)))
        try:
            written = configurations.keep(report, name, Written(dumps(configuration(report, found.settings))))
        except InvalidReport:
            return None
    return configurations.keep(report, plain.settings_key, written)


def _row(unit: UnitOfWork, plain: Plain, configuration: Written) -> dict[str, Any]:
    values = row(plain.arrival.report, plain.database.id, configuration, unit.now)
    return {**values, "metrics": Written(dumps(values["metrics"]))}


def _facts(unit: UnitOfWork, plain: Plain) -> Document:
    report = plain.arrival.report
    facts = database_facts(report, plain.database, plain.settings.unreadable.values(), unit.now)
    return {**facts, "settings_hash": report.settings_hash}
