"""What earlier versions of the agent kept of a change, in several files: read once, and removed once it is taken over.

`journal` is the change under way or being undone, `provisional` the one that guardrails watch, `way_back` the progress
of a restore, `answers` the outcomes by directive, and `outcomes` those that the next report has to carry.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal

from lutra_models.server import SERVER
from lutra_models.wire import ApplyCode, Outcome
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lutra_agent.state.change_record import ChangeRecord, Changes, SnapshotField, Undo, kept
from lutra_agent.state.snapshot import Progress
from lutra_agent.state.store import State

FILES = ("journal", "provisional", "way_back", "answers", "outcomes")
PROGRESS: Mapping[str, Progress] = {"begun": "started", "arrived": "restarted"}
ENDED = "the agent ended while it carried this out"

log = logging.getLogger(__name__)


class _Journal(BaseModel):
    directive: str
    names: tuple[str, ...]
    snapshot: SnapshotField
    restarting: bool
    failed: str
    code: ApplyCode | None


class _Provisional(BaseModel):
    directive: str
    names: tuple[str, ...]
    snapshot: SnapshotField
    restarted: bool
    applied_at: datetime
    confirm_by: datetime
    windows: int = 0
    watched_until: datetime | None = None


class _Restore(BaseModel):
    stage: Literal["begun", "arrived"]


class _Answer(BaseModel):
    outcome: Outcome
    reported: bool


class _Former(BaseModel):
    """The five files; absent or unreadable ones as if nothing had happened."""

    model_config = ConfigDict(frozen=True)

    journal: _Journal | None = None
    provisional: _Provisional | None = None
    way_back: _Restore | None = None
    answers: Annotated[dict[str, _Answer], Field(default_factory=dict)]
    outcomes: tuple[Outcome, ...] = ()


def present(state: State) -> bool:
    return any(os.path.lexists(state.folder / f"{name}.json") for name in FILES)


def remove(state: State) -> None:
    """Whatever is left of it counts no more: the file of this version is durable."""
    try:
        for name in FILES:
            if os.path.lexists(state.folder / f"{name}.json"):
                state.forget(name)
    except OSError as error:
        log.error("files of an earlier version cannot be removed yet: %s", error)


def read(state: State) -> Changes:
    """The same in the records of this version."""
    found = {}
    for name in FILES:
        content = state.load(name)
        if content is None:
            continue
        try:
            _Former.model_validate({name: content})
        except ValidationError as error:
            log.error("%s, a file of an earlier version, is unreadable: %s", name, error)
        else:
            found[name] = content
    return _records(_Former.model_validate(found))


@dataclass(frozen=True)
class _Recorded:
    """A directive's latest outcome, and what of its outcomes no report carries."""

    outcome: Outcome | None = None
    unreported: tuple[Outcome, ...] = ()
    measured: bool = False


def _records(former: _Former) -> Changes:
    recorded = _outcomes(former)
    in_hand = _in_hand(former, recorded)
    watched = _watched(former.provisional, recorded, in_hand)
    alive = {r.directive: r for r in (watched, in_hand) if r is not None}
    ended = [
        ChangeRecord(directive, "done", measured=found.measured, outcome=found.outcome, unreported=found.unreported)
        for directive, found in recorded.items()
        if directive not in alive
    ]
    return Changes(kept([*ended, *alive.values()]))


def _outcomes(former: _Former) -> dict[str, _Recorded]:
    found = {directive: _answered(former, answer) for directive, answer in former.answers.items()}
    for outcome in former.outcomes:
        if outcome.directive not in found:
            queued = _queued(former, outcome.directive)
            found[outcome.directive] = _Recorded(queued[-1], queued)
    return found


def _answered(former: _Former, answer: _Answer) -> _Recorded:
    """Of a change that was confirmed or undone, `outcomes` alone says whether a report carries that."""
    outcome, queued = answer.outcome, _queued(former, answer.outcome.directive)
    waits = not answer.reported and outcome.state in ("applied", "refused", "failed")
    return _Recorded(outcome, (*queued, outcome) if waits else queued, measured=waits and outcome.state == "applied")


def _queued(former: _Former, directive: str) -> tuple[Outcome, ...]:
    return tuple(o for o in former.outcomes if o.directive == directive)


def _in_hand(former: _Former, recorded: Mapping[str, _Recorded]) -> ChangeRecord | None:
    journal = former.journal
    if journal is None:
        return None
    found = recorded.get(journal.directive, _Recorded())
    if found.outcome is not None and (not journal.failed or found.outcome.state == "reverted"):
        return None  # it had ended: removing the journal was all that was left to do
    record = ChangeRecord(
        journal.directive,
        "restarting" if journal.restarting else "applying",
        journal.names,
        {SERVER: journal.snapshot},
        restarted=journal.restarting,
        measured=found.measured,
        outcome=found.outcome,
        unreported=tuple(o for o in found.unreported if o.state != "reverted"),
    )
    if not journal.failed and former.way_back is None:
        return record
    progress = None if former.way_back is None else PROGRESS[former.way_back.stage]
    undo = Undo(journal.code or "internal_error", journal.failed or ENDED, progress)
    return replace(record, stage="undoing", undo=undo)


def _watched(
    change: _Provisional | None, recorded: Mapping[str, _Recorded], in_hand: ChangeRecord | None
) -> ChangeRecord | None:
    if change is None or (in_hand is not None and in_hand.directive == change.directive):
        return None
    found = recorded.get(change.directive, _Recorded())
    applied = Outcome(
        directive=change.directive,
        state="applied",
        restarted=change.restarted,
        confirm_by=change.confirm_by,
        at=change.applied_at,
    )
    return ChangeRecord(
        change.directive,
        "watching" if change.watched_until else "provisional",
        change.names,
        {SERVER: change.snapshot},
        restarted=change.restarted,
        confirm_by=None if change.watched_until else change.confirm_by,
        windows=change.windows,
        watch_until=change.watched_until,
        measured=found.measured,
        outcome=found.outcome or applied,
        unreported=found.unreported,
    )
