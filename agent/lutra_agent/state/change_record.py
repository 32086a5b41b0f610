"""The records of the agent's changes: each from before its first statement until a report contains its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER
from lutra_models.wire import Outcome
from pydantic import PlainSerializer, PlainValidator

from lutra_agent.state.snapshot import Progress, Snapshot

KEPT = 200
"""Records that have ended: a repeated directive gets the same answer."""

Stage = Literal["applying", "restarting", "provisional", "watching", "undoing", "done"]
IN_HAND: tuple[Stage, ...] = ("applying", "restarting", "undoing")
"""The agent works on it: nothing else begins before this has ended."""
WATCHED: tuple[Stage, ...] = ("provisional", "watching")
"""Active, and undone if a guardrail is violated; `watching`: confirmed already."""

SnapshotField = Annotated[Snapshot, PlainValidator(Snapshot.from_dict), PlainSerializer(Snapshot.to_dict)]


@dataclass(frozen=True)
class Undo:
    """The reason why a change is undone, and the progress of its restore."""

    code: ApplyCode
    reason: str
    progress: Progress | None = None


@dataclass(frozen=True)
class ChangeRecord:
    """One directive's change.

    `before` is the configuration that an undo restores, by setting source; `restarted`: a restart of the server was
    begun, so an undo makes settings that need one active again, too. `windows` were measured without a violation. A
    provisional change is undone after `confirm_by`, a confirmed one is watched until `watch_until`. `outcome` is the
    latest one; no report contains those of `unreported` yet. `measured`: that it was applied is reported with its
    measurement. `texts` has by setting the values before and after, as people write them.
    """

    directive: str
    stage: Stage
    names: tuple[str, ...] = ()
    before: Mapping[str, SnapshotField] = field(default_factory=dict)
    restarted: bool = False
    confirm_by: datetime | None = None
    windows: int = 0
    watch_until: datetime | None = None
    undo: Undo | None = None
    measured: bool = False
    outcome: Outcome | None = None
    unreported: tuple[Outcome, ...] = ()
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        needed: dict[str, Any] = {
            "before": SERVER in self.before or not self.alive,
            "undo": self.undo or self.stage != "undoing",
            "confirm_by": self.confirm_by or self.stage != "provisional",
            "watch_until": self.watch_until or self.stage != "watching",
            "outcome": self.outcome or self.stage not in (*WATCHED, "done"),
        }
        if missing := [name for name, there in needed.items() if not there]:
            raise ValueError(f"{self.directive}: a change that is {self.stage} needs {', '.join(missing)}")

    @property
    def alive(self) -> bool:
        return self.stage != "done"

    @property
    def words(self) -> str:
        """As in "one 4MB → 24MB, another on → off"."""
        return moves({name: self.texts.get(name, ("?", "?")) for name in self.names})

    @property
    def words_back(self) -> str:
        """The same for its undo."""
        return moves({name: self.texts.get(name, ("?", "?"))[::-1] for name in self.names})

    @property
    def confirmed(self) -> bool:
        return self.stage == "watching"

    @property
    def reported(self) -> bool:
        """Whether a report contains the latest outcome."""
        return self.outcome not in self.unreported

    @property
    def awaits_measurement(self) -> bool:
        """Whether it is applied, and its outcome will be reported together with a measurement that is still to come."""
        applied = self.outcome is not None and self.outcome.state == "applied"
        return self.measured and applied and not self.reported

    @property
    def due(self) -> tuple[Outcome, ...]:
        """The records whose outcomes the next report has to contain."""
        return () if self.awaits_measurement else self.unreported


def moves(texts: Mapping[str, Sequence[str]]) -> str:
    """The changed values in words, by setting."""
    return ", ".join(f"{name} {before} → {after}" for name, (before, after) in texts.items())


@dataclass(frozen=True)
class Changes:
    """All records, the latest last: at most one is in hand, and at most one other is watched.

    The watched one is the older. Undoing the one in hand therefore restores the configuration of the watched one.
    """

    records: tuple[ChangeRecord, ...] = ()

    def __post_init__(self) -> None:
        directives = [r.directive for r in self.records]
        if len(set(directives)) < len(directives):
            raise ValueError(f"two records of one directive among {', '.join(directives)}")
        for stages in (IN_HAND, WATCHED):
            if len(found := [r.directive for r in self.records if r.stage in stages]) > 1:
                raise ValueError(f"at most one change may be {' or '.join(stages)}, not {', '.join(found)}")

    @property
    def in_hand(self) -> ChangeRecord | None:
        return self._in(IN_HAND)

    @property
    def watched(self) -> ChangeRecord | None:
        return self._in(WATCHED)

    @property
    def provisional(self) -> ChangeRecord | None:
        """The change that is not confirmed yet."""
        return self._in(("provisional",))

    @property
    def pending(self) -> str:
        """The unsettled records in words, at the agent's start; empty if there are none."""
        parts = []
        if (record := self.in_hand) is not None:
            parts.append(f"{record.directive} is incomplete and is undone first: {record.words_back}")
        if (record := self.watched) is not None and record.confirmed:
            parts.append(f"guards watch {record.directive} until {record.watch_until:%H:%M:%S}: {record.words}")
        elif record is not None:
            parts.append(
                f"{record.directive} is active and not confirmed, and is undone after {record.confirm_by:%H:%M:%S} "
                f"unless good windows confirm it: {record.words}"
            )
        return "; ".join(parts)

    @property
    def due(self) -> list[Outcome]:
        """The outcomes that the next report has to contain, oldest first."""
        return [outcome for record in self.records for outcome in record.due]

    def of(self, directive: str) -> ChangeRecord | None:
        return next((r for r in self.records if r.directive == directive), None)

    def with_record(self, record: ChangeRecord) -> Changes:
        """With this one in place of an earlier record of the same directive."""
        return Changes(kept([r for r in self.records if r.directive != record.directive] + [record]))

    def _in(self, stages: Sequence[Stage]) -> ChangeRecord | None:
        return next((r for r in self.records if r.stage in stages), None)


def kept(records: Sequence[ChangeRecord]) -> tuple[ChangeRecord, ...]:
    """All unfinished records, and KEPT of the others: reported ones are dropped first, the oldest of them before the
    others.
    """
    ended = sorted((r for r in records if not r.alive), key=lambda r: r.reported, reverse=True)
    gone = {r.directive for r in ended[: max(len(ended) - KEPT, 0)]}
    return tuple(r for r in records if r.directive not in gone)
