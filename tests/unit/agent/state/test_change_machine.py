"""The state machine of changes under any sequence of events, judged by rules that this file writes down once more."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_agent.state.change_events import (
    Answered,
    Applied,
    Begun,
    Confirmed,
    Event,
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
)
from lutra_agent.state.change_machine import IllegalEvent, after
from lutra_agent.state.change_record import IN_HAND, KEPT, WATCHED, ChangeRecord, Changes
from lutra_agent.state.change_store import FORMAT
from lutra_agent.state.snapshot import Snapshot
from lutra_models.server import SERVER
from lutra_models.wire import Outcome

from tests.support.pytest_plugins.suites import examples

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIRECTIVES = ("rec_1", "rec_2", "rec_3")
OTHER_SOURCE = "host"

directives = st.sampled_from(DIRECTIVES)
moments = st.integers(0, 9).map(lambda minutes: NOON + timedelta(minutes=minutes))
numbers = count()


def snapshot() -> Snapshot:
    return Snapshot({"x": None}, {"x": str(next(numbers))}, None)


@st.composite
def outcomes(draw: st.DrawFn, *states: str, provisional: bool = False) -> Outcome:
    """Each is another one: its message says so."""
    fields: dict[str, Any] = {"directive": draw(directives), "state": draw(st.sampled_from(states))}
    confirm_by = draw(moments) if provisional and draw(st.booleans()) else None
    return Outcome(**fields, message=str(next(numbers)), at=draw(moments), confirm_by=confirm_by)


sources = st.sampled_from([(SERVER,), (SERVER, OTHER_SOURCE)])
begun = st.builds(
    lambda directive, names, measured: Begun(directive, ("x",), {n: snapshot() for n in names}, measured),
    directives,
    sources,
    st.booleans(),
)
events = st.one_of(
    begun,
    st.builds(Restarting, directives),
    st.builds(Applied, outcomes("applied", provisional=True)),
    st.builds(WindowPassed, directives, moments),
    st.builds(Confirmed, outcomes("confirmed"), moments, moments),
    st.builds(Waited, directives, st.sampled_from([30.0, 600.0])),
    st.builds(WatchEnded, directives, moments),
    st.builds(UndoBegun, directives, st.sampled_from(["guardrail", "not_confirmed"]), st.just("why")),
    st.builds(UndoProgressed, directives, st.sampled_from([None, "started", "restarted"])),
    st.builds(UndoPrevented, outcomes("failed")),
    st.builds(Restored, outcomes("reverted")),
    st.builds(Answered, outcomes("refused", "failed", "applied"), st.booleans(), st.booleans()),
    st.builds(RolledBack, st.lists(outcomes("reverted"), max_size=2).map(tuple)),
    st.just("report what is due"),
)


@dataclass
class Shadow:
    """What has to be remembered, kept by simpler means than the records."""

    before: dict[str, Any] = field(default_factory=dict)
    """Of each change that may still have to be undone."""
    deadline: dict[str, datetime] = field(default_factory=dict)
    unreported: list[Outcome] = field(default_factory=list)

    def saw(self, was: Changes, event: Event) -> None:
        """An event that happened."""
        match event:
            case Begun(directive=directive, before=before):
                self.before[directive] = before
            case Applied(outcome=outcome):
                self._over(outcome.directive, keep=outcome.confirm_by is not None)
                if outcome.confirm_by is not None:
                    self.deadline[outcome.directive] = outcome.confirm_by
            case Confirmed(outcome=outcome, at=at):
                assert at <= self.deadline.pop(outcome.directive)
            case Waited(directive=directive, seconds=seconds) if directive in self.deadline:
                self.deadline[directive] += timedelta(seconds=seconds)
            case UndoBegun(directive=directive):
                self.deadline.pop(directive, None)
            case WatchEnded(directive=directive):
                assert directive not in self.deadline
                del self.before[directive]
            case Restored(outcome=outcome):
                del self.before[outcome.directive]
            case Answered(outcome=outcome, supersedes=True):
                self._over(outcome.directive, keep=False)
        self._outcomes(was, event)

    def _over(self, directive: str, keep: bool) -> None:
        """An earlier change that was watched is over, and this one too unless it is provisional."""
        kept = {directive} if keep else set[str]()
        self.before = {d: b for d, b in self.before.items() if d in kept}
        self.deadline.clear()

    def _outcomes(self, was: Changes, event: Event) -> None:
        if isinstance(event, Reported):
            self.unreported = [o for o in self.unreported if o not in event.outcomes]
        elif isinstance(event, RolledBack):
            ended = {o.directive: o for o in reversed(event.outcomes) if o.directive in self.before}
            self.unreported += ended.values()
            for directive in ended:
                del self.before[directive]
                self.deadline.pop(directive, None)
        elif isinstance(outcome := getattr(event, "outcome", None), Outcome):
            self.unreported.append(outcome)

    def holds(self, changes: Changes) -> None:
        alive = {r.directive: r.before for r in changes.records if r.alive}
        assert alive == self.before
        assert {r.directive: r.confirm_by for r in changes.records if r.stage == "provisional"} == self.deadline
        unreported = [o for r in changes.records for o in r.unreported]
        assert sorted(unreported, key=lambda o: o.message) == sorted(self.unreported, key=lambda o: o.message)
        assert {o.message for o in changes.due} <= {o.message for o in unreported}


def sound(changes: Changes) -> None:
    """What is true of any records, however they came about."""
    assert sum(r.stage in IN_HAND for r in changes.records) <= 1
    assert sum(r.stage in WATCHED for r in changes.records) <= 1
    assert len({r.directive for r in changes.records}) == len(changes.records)
    document = json.loads(json.dumps(FORMAT.dump_python(changes, mode="json")))
    assert FORMAT.validate_python(document) == changes
    for record in changes.records:
        held_back = {o.message for o in record.unreported} - {o.message for o in record.due}
        assert not held_back or record.awaits_measurement
        if record.stage == "undoing":
            assert record.undo is not None
    if changes.in_hand is not None:
        ends_whatever_it_is_at(changes, changes.in_hand)


def ends_whatever_it_is_at(changes: Changes, record: ChangeRecord) -> None:
    """Nothing in hand is ever stuck: it can be undone, and then the change before it is watched as before."""
    if record.undo is None:
        changes = after(changes, UndoBegun(record.directive, "internal_error", "why"))
    reverted = Outcome(directive=record.directive, state="reverted", at=NOON)
    ended = after(changes, Restored(reverted))
    assert ended.in_hand is None
    assert ended.watched == changes.watched
    assert reverted in ended.due


@pytest.mark.slow
@examples(500, 2500)
def test_whatever_happens_nothing_is_forgotten_that_an_undo_or_a_report_needs(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(events, max_size=40))
    def nothing_is_forgotten(happening: list[Any]) -> None:
        changes, shadow = Changes(), Shadow()
        for asked in happening:
            event = Reported(tuple(changes.due)) if isinstance(asked, str) else asked
            try:
                now = after(changes, event)
            except IllegalEvent:
                continue
            shadow.saw(changes, event)
            changes = now
            shadow.holds(changes)
            sound(changes)

    nothing_is_forgotten()


APPLIED = Outcome(directive="rec_1", state="applied", at=NOON)
PROVISIONAL = APPLIED.model_copy(update={"confirm_by": NOON + timedelta(minutes=5)})
CONFIRMED = Outcome(directive="rec_1", state="confirmed", at=NOON)
REVERTED = Outcome(directive="rec_1", state="reverted", at=NOON)
LATE = NOON + timedelta(minutes=6)


def at(stage: str) -> Changes:
    """A change that has come so far."""
    undo = UndoBegun("rec_1", "guardrail", "why")
    steps: dict[str, list[Event]] = {
        "applying": [],
        "restarting": [Restarting("rec_1")],
        "provisional": [Applied(PROVISIONAL), WindowPassed("rec_1", NOON)],
        "watching": [Applied(PROVISIONAL), WindowPassed("rec_1", NOON), Confirmed(CONFIRMED, NOON, NOON)],
        "undoing": [undo],
        "done": [undo, Restored(REVERTED)],
    }
    changes = after(Changes(), Begun("rec_1", ("x",), {SERVER: snapshot()}))
    for event in steps[stage]:
        changes = after(changes, event)
    [record] = changes.records
    assert record.stage == stage
    return changes


LEGAL: list[tuple[Event, tuple[str, ...]]] = [
    (Restarting("rec_1"), ("applying", "restarting")),
    (Applied(APPLIED), ("applying", "restarting")),
    (WindowPassed("rec_1", NOON), ("provisional",)),
    (WindowPassed("rec_1", LATE), ()),
    (Confirmed(CONFIRMED, NOON, LATE), ("provisional",)),
    (Confirmed(CONFIRMED, LATE, LATE), ()),
    (Waited("rec_1", 60.0), ("provisional", "watching")),
    (WatchEnded("rec_1", NOON), ()),
    (WatchEnded("rec_1", LATE), ("watching",)),
    (UndoBegun("rec_1", "guardrail", "why"), ("applying", "restarting", "provisional", "watching")),
    (UndoProgressed("rec_1", "started"), ("undoing",)),
    (UndoPrevented(REVERTED), ("undoing",)),
    (Restored(REVERTED), ("undoing",)),
    (Answered(APPLIED), ("done",)),
]


@pytest.mark.parametrize("stage", [*IN_HAND, *WATCHED, "done"])
@pytest.mark.parametrize(("event", "stages"), LEGAL)
def test_an_event_is_legal_at_these_stages_alone(event: Event, stages: tuple[str, ...], stage: str) -> None:
    if stage in stages:
        assert after(at(stage), event)
        return
    with pytest.raises(IllegalEvent, match=rf"rec_1: {type(event).__name__} while it is {stage}"):
        after(at(stage), event)


def test_nothing_begins_and_no_older_change_is_undone_while_one_is_in_hand() -> None:
    changes = after(at("watching"), Begun("rec_2", ("x",), {SERVER: snapshot()}))
    for event in (Begun("rec_3", ("x",), {SERVER: snapshot()}), UndoBegun("rec_1", "guardrail", "why")):
        with pytest.raises(IllegalEvent, match="while rec_2 is applying"):
            after(changes, event)


def test_a_change_is_not_confirmed_before_a_window_has_passed() -> None:
    changes = after(Changes(), Begun("rec_1", ("x",), {SERVER: snapshot()}))
    with pytest.raises(IllegalEvent):
        after(after(changes, Applied(PROVISIONAL)), Confirmed(CONFIRMED, NOON, LATE))


def test_what_is_applied_over_a_watched_change_ends_its_watch_and_an_undo_does_not() -> None:
    watched = at("watching")
    changes = after(watched, Begun("rec_2", ("x",), {SERVER: snapshot()}))
    assert after(changes, Applied(APPLIED.model_copy(update={"directive": "rec_2"}))).watched is None
    undone = after(changes, UndoBegun("rec_2", "guardrail", "why"))
    undone = after(undone, Restored(REVERTED.model_copy(update={"directive": "rec_2"})))
    assert undone.watched == watched.watched


def test_only_records_that_have_ended_are_dropped_and_reported_ones_first() -> None:
    changes = at("provisional")
    for number in range(KEPT + 5):
        changes = after(changes, Answered(Outcome(directive=f"old_{number}", state="refused", at=NOON)))
        if number % 2:
            changes = after(changes, Reported(tuple(o for o in changes.due if o.directive == f"old_{number}")))
    assert len(changes.records) == KEPT + 1
    assert changes.provisional is not None
    gone = {f"old_{n}" for n in range(KEPT + 5)} - {r.directive for r in changes.records}
    assert gone == {f"old_{n}" for n in (1, 3, 5, 7, 9)}


@pytest.mark.parametrize("stage", [*IN_HAND, *WATCHED])
def test_a_record_without_what_its_stage_needs_cannot_be_made(stage: Any) -> None:
    with pytest.raises(ValueError, match=f"rec_1: a change that is {stage} needs before"):
        ChangeRecord("rec_1", stage)
