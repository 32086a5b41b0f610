"""The state machine of a change: the records after each event. Pure, and total except for IllegalEvent."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lutra_models.wire import Outcome

from lutra_agent.state.change_events import (
    Answered,
    Applied,
    Begun,
    Confirmed,
    Event,
    OfOne,
    Reported,
    Restarting,
    Restored,
    RolledBack,
    UndoBegun,
    UndoPrevented,
    UndoProgressed,
    Waited,
    WatchEnded,
    WindowPassed,
    directive_of,
)
from lutra_agent.state.change_record import ChangeRecord, Changes, Undo


class IllegalEvent(ValueError):
    """The event cannot happen to a change at its stage."""


def after(changes: Changes, event: Event) -> Changes:
    """The records once `event` has happened. Raises IllegalEvent."""
    if isinstance(event, Reported):
        return _reported(changes, event)
    if isinstance(event, RolledBack):
        return _rolled_back(changes, event)
    if isinstance(event, Answered | Begun | UndoBegun):
        _require_free_hands(changes, event)
    record = _next(changes.of(directive_of(event)), event)
    if isinstance(event, Applied) or (isinstance(event, Answered) and event.supersedes):
        changes = _superseded(changes, record.directive)
    return changes.with_record(record)


def _require_free_hands(changes: Changes, event: Answered | Begun | UndoBegun) -> None:
    """The newest change is undone first: an older one's restore says nothing of the newer one's settings."""
    busy, directive = changes.in_hand, directive_of(event)
    if busy is not None and busy.directive != directive:
        raise IllegalEvent(f"{directive}: {type(event).__name__} while {busy.directive} is {busy.stage}")


def _next(record: ChangeRecord | None, event: OfOne) -> ChangeRecord:
    if record is None or not record.alive:
        return _first(record, event)
    match event, record.stage:
        case Restarting(), "applying" | "restarting":
            return replace(record, stage="restarting", restarted=True)
        case Applied(), "applying" | "restarting":
            return _applied(record, event.outcome)
        case ((WindowPassed() | Confirmed() | WatchEnded()), "provisional" | "watching"):
            return _observed(record, event)
        case Waited(seconds=seconds), "provisional" | "watching":
            return _later(record, timedelta(seconds=seconds))
        case UndoBegun(), "applying" | "restarting" | "provisional" | "watching":
            return _undoing(record, event)
        case UndoProgressed(), "undoing":
            assert record.undo is not None
            return replace(record, undo=replace(record.undo, progress=event.progress))
        case UndoPrevented(), "undoing":
            return _with_outcome(record, event.outcome)
        case Restored(), "undoing":
            return _ended(record, event.outcome)
    raise _illegal(record, event)


def _first(ended: ChangeRecord | None, event: OfOne) -> ChangeRecord:
    """A directive that nobody works on: new, or one that has ended and comes again."""
    left = () if ended is None else ended.unreported
    match event:
        case Answered(outcome=outcome, measured=measured):
            unreported = (*left, outcome)
            return ChangeRecord(outcome.directive, "done", measured=measured, outcome=outcome, unreported=unreported)
        case Begun(directive=directive, names=names, before=before, measured=measured, texts=texts):
            return ChangeRecord(directive, "applying", names, before, measured=measured, unreported=left, texts=texts)
    raise _illegal(ended, event)


def _applied(record: ChangeRecord, outcome: Outcome) -> ChangeRecord:
    if outcome.confirm_by is None:
        return _ended(record, outcome)
    return replace(_with_outcome(record, outcome), stage="provisional", confirm_by=outcome.confirm_by)


def _observed(record: ChangeRecord, event: WindowPassed | Confirmed | WatchEnded) -> ChangeRecord:
    in_time = record.confirm_by is None or event.at <= record.confirm_by
    match event, record.stage:
        case WindowPassed(), "provisional" if in_time:
            return replace(record, windows=record.windows + 1)
        case Confirmed(outcome=outcome, watch_until=until), "provisional" if in_time and record.windows:
            return replace(_with_outcome(record, outcome), stage="watching", confirm_by=None, watch_until=until)
        case WatchEnded(at=at), "watching" if record.watch_until is not None and at > record.watch_until:
            return _ended(record)
    raise _illegal(record, event)


def _later(record: ChangeRecord, by: timedelta) -> ChangeRecord:
    confirm_by, until = record.confirm_by, record.watch_until
    return replace(record, confirm_by=confirm_by and confirm_by + by, watch_until=until and until + by)


def _undoing(record: ChangeRecord, event: UndoBegun) -> ChangeRecord:
    undo = Undo(event.code, event.reason)
    return replace(record, stage="undoing", undo=undo, confirm_by=None, watch_until=None)


def _ended(record: ChangeRecord, outcome: Outcome | None = None) -> ChangeRecord:
    """Nothing is left to undo: what that would need goes."""
    latest = record if outcome is None else _with_outcome(record, outcome)
    return ChangeRecord(
        latest.directive,
        "done",
        measured=latest.measured,
        outcome=latest.outcome,
        unreported=latest.unreported,
    )


def _with_outcome(record: ChangeRecord, outcome: Outcome) -> ChangeRecord:
    return replace(record, outcome=outcome, unreported=(*record.unreported, outcome))


def _superseded(changes: Changes, by: str) -> Changes:
    """Without the watch of the change before: an operator undid it, or a later change is active over it."""
    watched = changes.watched
    return changes if watched is None or watched.directive == by else changes.with_record(_ended(watched))


def _rolled_back(changes: Changes, event: RolledBack) -> Changes:
    """The running agent may have ended a change meanwhile."""
    for outcome in event.outcomes:
        record = changes.of(outcome.directive)
        if record is not None and record.alive:
            changes = changes.with_record(_ended(record, outcome))
    return changes


def _reported(changes: Changes, event: Reported) -> Changes:
    """The order of the records stays. An outcome of a directive that is not kept any more says nothing."""
    return Changes(
        tuple(replace(r, unreported=tuple(o for o in r.unreported if o not in event.outcomes)) for r in changes.records)
    )


def _illegal(record: ChangeRecord | None, event: OfOne) -> IllegalEvent:
    stage = "no change" if record is None else record.stage
    return IllegalEvent(f"{directive_of(event)}: {type(event).__name__} while it is {stage}")
