"""The lessons of a session or an imported data set, as workloads from which others may learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from lutra_models.digest import fingerprint
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.options import DEFAULT as OPTIONS
from lutra_models.gp.options import Options
from lutra_models.gp.transfer.merging import says_the_same
from lutra_models.gp.transfer.workload import RECIPE, Workload
from lutra_models.history import History
from lutra_models.serial import history_to_dict

from lutra_service.common.documents import Document
from lutra_service.db.repositories.workloads import Remembered
from lutra_service.db.schema.records import Database, Session
from lutra_service.db.schema.records import Workload as Row
from lutra_service.db.store import UnitOfWork

MEASURED = ("format", "knobs", "objective", "limits", "observations", "context", "baseline", "current", "aim")
"""The parts of a history to which a model is fitted."""
Outcome = Literal["new", "changed", "known"]
NOTHING: Document = {"pending": [], "starts": [], "answers": {}}


def fitted_with(options_fingerprint: str) -> str:
    """The options and the recipe of a workload's fit: if they differ, it is fitted again."""
    return f"{options_fingerprint}/{RECIPE}"


def taught(model: Document, metric: str) -> Document:
    """A summary of a fitted model."""
    return Workload.of(Snapshot.from_dict(model), metric).to_dict()


def shown(taught: Document | None) -> Document:
    """A workload's lessons, each effect with the conclusions from its curve; empty before it was fitted."""
    found = Workload.from_dict(taught or {"signature": {}, "context": {}, "lessons": {}})
    document = found.to_dict()
    for metric, lesson in found.lessons.items():
        told = document["lessons"][metric]
        told["goal"] = "maximize" if lesson.good > 0 else "minimize"
        for effect, about in zip(lesson.effects, told["effects"], strict=True):
            low, high = effect.interval
            about |= {"certain": effect.certain, "best": effect.best, "gain": effect.gain, "low": low, "high": high}
    return document


def request(history: Document, options: Options = OPTIONS) -> Document:
    """The worker's input to fit a workload by itself. The same content and options give the same model."""
    measured = (o["configuration"] for o in history["observations"])
    home: Document = history.get("baseline") or history["current"] or next(measured, {})
    return {"history": history, "entropy": [0], "past": [], "baseline": home, "options": options.to_dict()}


def lesson(request: Mapping[str, Any], model: Document) -> Document:
    """The record of a request and of the model that was fitted to it."""
    history = {**{n: d for n, d in request["history"].items() if n in MEASURED}, **NOTHING}
    return {
        "key": fingerprint(history),
        "history": history,
        "metric": history["objective"]["metric"],
        "observations": len(history["observations"]),
        "taught": taught(model, history["objective"]["metric"]),
        "fitted_with": fitted_with(model.get("options", "")),
    }


def of_session(unit: UnitOfWork, session: Session, database: Database, told: Document, snapshot_id: str) -> str:
    """Store a session's lessons in place of its earlier ones; the workload's id."""
    known = unit.workloads.id_of_session(session.id)
    values: Document = {
        **told,
        "name": database.name,
        "engine": database.engine,
        "snapshot_id": snapshot_id,
    }
    if known is not None:
        unit.workloads.learn(known, unit.now, **values)
        return known
    id_ = unit.new_id("wl")
    made: Document = {
        "database_id": database.id,
        "session_id": session.id,
        "created_at": unit.now,
        "changed_at": unit.now,
    }
    unit.workloads.add(Row(id=id_, **made, **values))
    return id_


def imported(unit: UnitOfWork, history: History, engine: str, name: str) -> tuple[str, Outcome]:
    """Store a data set as a past workload of an engine: the workload's id, and the use of its columns.

    Equal content is stored once. An engine has one data set of a name: other content replaces it. Every database of the
    engine whose policy lets it learn from others may use it once it was trained.
    """
    document = {**{n: d for n, d in history_to_dict(history).items() if n in MEASURED}, **NOTHING}
    key = fingerprint(document)
    known = unit.workloads.imported(engine, key=key)
    if known is not None:
        return known, "known"
    values: Document = {
        "key": key,
        "metric": history.objective.metric,
        "observations": len(history.observations),
        "history": document,
    }
    before = unit.workloads.imported(engine, name=name)
    if before is not None:
        unit.workloads.learn(before, unit.now, **values, taught=None, snapshot_id=None, fitted_with=None)
        return before, "changed"
    id_ = unit.new_id("wl")
    made: Document = {"database_id": None, "session_id": None, "created_at": unit.now, "changed_at": unit.now}
    unit.workloads.add(Row(id=id_, name=name, engine=engine, **made, **values))
    return id_, "new"


def merge(unit: UnitOfWork, id_: str, database_id: str) -> str | None:
    """Merge a workload with another one of its database if both give the same lessons. Returns the id that stays, if
    they were merged.

    The one with more observations stays; of equals, the newer.
    """
    rows = {r.id: r for r in unit.workloads.siblings(database_id) if r.teaches}
    this = rows.pop(id_, None)
    if this is None:
        return None
    mine = Workload.from_dict(this.taught or {})
    for other in rows.values():
        if other.metric == this.metric and says_the_same(mine, Workload.from_dict(other.taught or {}), this.metric):
            stays, goes = _ordered(this, other)
            unit.workloads.learn(goes.id, unit.now, merged_into=stays.id)
            if goes.id == id_:
                return stays.id
    return id_


def _ordered(one: Remembered, other: Remembered) -> tuple[Remembered, Remembered]:
    """The one that stays, then the one that goes."""
    first = (one.observations, one.id) > (other.observations, other.id)
    return (one, other) if first else (other, one)
