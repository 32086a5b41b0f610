"""The events of changes. Each event names its directive, or carries outcomes that do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lutra_models.errors import ApplyCode
from lutra_models.wire import Outcome

from lutra_agent.state.snapshot import Progress, Snapshot


@dataclass(frozen=True)
class Answered:
    """A directive was answered without a change. `supersedes`: it ends the watch of the change before it."""

    outcome: Outcome
    measured: bool = False
    supersedes: bool = False


@dataclass(frozen=True)
class Begun:
    """The first statement comes next. `before` is the configuration active until then, by setting source; `texts` has
    the values before and after, as people write them.
    """

    directive: str
    names: tuple[str, ...]
    before: Mapping[str, Snapshot]
    measured: bool = False
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Restarting:
    """A restart of the server comes next."""

    directive: str


@dataclass(frozen=True)
class Applied:
    """Everything is active and verified: provisional if the outcome has a `confirm_by`.

    Ends the watch of the change before it.
    """

    outcome: Outcome


@dataclass(frozen=True)
class WindowPassed:
    """A window that ended at `at` was measured under it without a violation."""

    directive: str
    at: datetime


@dataclass(frozen=True)
class Confirmed:
    """By the window that ended at `at`."""

    outcome: Outcome
    at: datetime
    watch_until: datetime


@dataclass(frozen=True)
class Waited:
    """The server was down on purpose: this time does not count against the change."""

    directive: str
    seconds: float


@dataclass(frozen=True)
class WatchEnded:
    directive: str
    at: datetime


@dataclass(frozen=True)
class UndoBegun:
    directive: str
    code: ApplyCode
    reason: str


@dataclass(frozen=True)
class UndoProgressed:
    """`progress` None: the restore begins again."""

    directive: str
    progress: Progress | None


@dataclass(frozen=True)
class UndoPrevented:
    """The restore was not possible yet: the agent tries again."""

    outcome: Outcome


@dataclass(frozen=True)
class Restored:
    """The previous configuration is active again."""

    outcome: Outcome


@dataclass(frozen=True)
class RolledBack:
    """An operator restored a configuration on the host, which ends each unfinished change."""

    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Reported:
    """A report that is stored carries these outcomes, of any directives."""

    outcomes: tuple[Outcome, ...]


OfOne = (
    Answered
    | Begun
    | Restarting
    | Applied
    | WindowPassed
    | Confirmed
    | Waited
    | WatchEnded
    | UndoBegun
    | UndoProgressed
    | UndoPrevented
    | Restored
)
Event = OfOne | RolledBack | Reported


def directive_of(event: OfOne) -> str:
    match event:
        case Answered() | Applied() | Confirmed() | UndoPrevented() | Restored():
            return event.outcome.directive
        case _:
            return event.directive
