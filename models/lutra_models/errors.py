"""Errors and failures, as types with a stable wire `code`. No HTTP here: one table in the service maps codes to
statuses.

An error is raised as a `LutraError`. The end of a recommendation is a `Failure`, a stored value whose code decides the
consequences in the agent, the service and the recommender alike. Programming mistakes stay `ValueError` and
`TypeError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Flag, StrEnum, auto
from functools import cache
from typing import Any, Self

LONGEST_MESSAGE = 1000


class LutraError(Exception):
    """Base of every expected failure. The message carries the offending values."""

    code = "error"


class InvalidConfiguration(LutraError):
    """A configuration that its knob space, its catalogue or its server does not accept."""

    code = "invalid_configuration"


class InvalidReport(LutraError):
    """A report whose numbers, times or names cannot be trusted."""

    code = "invalid_report"


class NotFound(LutraError):
    code = "not_found"


class SessionClosed(LutraError):
    """The tuning session has ended and takes no more trials."""

    code = "session_closed"


class IllegalTransition(LutraError):
    """A state machine was asked for a step that its current state does not allow."""

    code = "illegal_transition"


class NotEnoughObservations(LutraError):
    """A model was requested before there was anything to learn from."""

    code = "not_enough_observations"


class SpaceExhausted(LutraError):
    """No untried configuration is left that all rules accept; the message names the rule."""

    code = "space_exhausted"


class FitFailed(LutraError):
    """There were enough numbers, but no model could be fitted to them."""

    code = "fit_failed"


class MemoryBudgetExceeded(InvalidConfiguration):
    """The worst case of a new configuration is above the memory limit."""

    code = "memory_budget_exceeded"


class InvalidOptions(LutraError):
    """An options document with an unknown option, or a value out of its range; the message names option, value and
    range.
    """

    code = "invalid_options"


class MissingExtension(LutraError):
    """A package is not installed: a name in an options document, or a call, needs it."""

    code = "missing_extension"


class BrokenExtension(LutraError):
    """An installed package brings Lutra a value that cannot be used."""

    code = "broken_extension"


class _Means(Flag):
    """What a code says beside its name, as its properties tell it."""

    NOTHING = 0
    SENTENCE = auto()
    PAUSES = auto()
    SAME_AGAIN = auto()
    NOT_RUN = auto()
    NOT_ALLOWED = auto()
    NOT_BLAMED = auto()
    NOT_INSTALLED = auto()


_VALUES = _Means.SAME_AGAIN | _Means.NOT_RUN | _Means.NOT_ALLOWED


class FailureCode(StrEnum):
    """The reason why something was not carried out, not measured, or undone; each kind has its own enum below."""

    means: _Means

    def __new__(cls, word: str, means: _Means = _Means.NOTHING) -> Self:
        code = str.__new__(cls, word)
        code._value_ = word
        code.means = means
        return code

    @property
    def is_told_alone(self) -> bool:
        """Whether its messages are whole sentences: people read them without the code."""
        return _Means.SENTENCE in self.means

    @property
    def pauses(self) -> bool:
        """Whether its session pauses: an immediate request for the next trial would not help."""
        return _Means.PAUSES in self.means

    @property
    def is_about_values(self) -> bool:
        """Whether the same settings would fail again on the same server: they count as declined."""
        return _Means.SAME_AGAIN in self.means

    @property
    def is_of_the_configuration(self) -> bool:
        """Whether a refusal with this code is due to the configuration, and not to the moment."""
        return _Means.NOT_ALLOWED in self.means

    @property
    def did_not_take(self) -> bool:
        """Whether a server did not run under a configuration; otherwise it ran, and something else went wrong."""
        return _Means.NOT_RUN in self.means

    @property
    def blames_configuration(self) -> bool:
        """Whether an undo for this reason counts as a failed trial of the active configuration."""
        return _Means.NOT_BLAMED not in self.means

    @property
    def is_not_installed(self) -> bool:
        """Whether another program, or an earlier model version, may be able to compute it."""
        return _Means.NOT_INSTALLED in self.means


class ApplyCode(FailureCode):
    """The reason why an agent did not carry out a directive, or undid its change: the closed set of the wire."""

    MEMORY_BUDGET_EXCEEDED = "memory_budget_exceeded", _VALUES
    LIMIT_EXCEEDED = "limit_exceeded", _VALUES
    DURABILITY_NOT_ALLOWED = "durability_not_allowed", _Means.PAUSES | _Means.SAME_AGAIN
    RESTART_NOT_ALLOWED = "restart_not_allowed"
    OUTSIDE_MAINTENANCE_WINDOW = "outside_maintenance_window"
    MODE_FORBIDS = "mode_forbids"
    INSUFFICIENT_PRIVILEGE = "insufficient_privilege"
    SETTING_SHADOWED = "setting_shadowed", _VALUES
    INVALID_VALUE = "invalid_value", _VALUES
    UNKNOWN_SETTING = "unknown_setting", _VALUES
    NOT_PRIMARY = "not_primary", _Means.PAUSES
    SERVER_CHANGED = "server_changed", _Means.PAUSES
    PAUSED = "paused"
    EXPIRED = "expired"
    DID_NOT_START = "did_not_start", _Means.SAME_AGAIN | _Means.NOT_RUN
    NOT_ACTIVE_AFTER_APPLY = "not_active_after_apply", _Means.SAME_AGAIN | _Means.NOT_RUN
    DATABASE_UNAVAILABLE = "database_unavailable"
    GUARDRAIL = "guardrail", _Means.PAUSES
    NOT_CONFIRMED = "not_confirmed", _Means.NOT_BLAMED
    INTERNAL_ERROR = "internal_error"


class MeasureCode(FailureCode):
    """The reason why nothing was measured under a configuration that an agent made active."""

    DRIVER_FAILED = "driver_failed"
    NO_MEASUREMENT = "no_measurement", _Means.SENTENCE
    NOT_MEASURED = "not_measured", _Means.SENTENCE
    """For a reason without a code."""
    REFUSED = "refused", _Means.NOT_RUN
    """A rule or a server does not allow it, in a history without further details."""


class ComputeCode(FailureCode):
    """The reason why a recommendation could not be computed."""

    SPACE_EXHAUSTED = "space_exhausted"
    MISSING_EXTENSION = "missing_extension", _Means.NOT_INSTALLED
    BROKEN_EXTENSION = "broken_extension", _Means.NOT_INSTALLED
    FIT_FAILED = "fit_failed"
    INVALID_ANSWER = "invalid_answer"
    INVALID_CONFIGURATION = "invalid_configuration"
    INVALID_OPTIONS = "invalid_options"
    NOT_ENOUGH_OBSERVATIONS = "not_enough_observations"
    LOST = "computation_lost", _Means.SENTENCE
    """The number of attempts after which it is not computed again."""
    OTHER = "computation_failed", _Means.SENTENCE
    """With its own code, with which the message begins."""


class DecisionCode(FailureCode):
    """Endings decided by a person or by the service; and endings that an agent reports without a code."""

    REJECTED = "rejected", _Means.SENTENCE
    WITHDRAWN = "withdrawn", _Means.SENTENCE
    """Called off before it was active."""
    GATHERED = "gathered", _Means.SENTENCE
    """Another proposal contains its changes."""
    ROLLED_BACK = "rolled_back", _Means.SENTENCE
    STATE_LOST = "state_lost", _Means.SENTENCE
    """The agent lost its state while the change was not confirmed."""
    SERVER_REPLACED = "server_replaced", _Means.SENTENCE
    """Another server took over while the change was not confirmed."""
    UNKNOWN = "unknown", _Means.SENTENCE


class Party(StrEnum):
    """The party that ended something. The agent represents its guards and its server as well."""

    AGENT = "agent"
    SERVICE = "service"
    WORKER = "worker"
    OPERATOR = "operator"


@dataclass(frozen=True)
class Failure:
    """The reason why a recommendation was not carried out or was undone: `code` decides the consequences, `message` is
    for people, at most LONGEST_MESSAGE characters, and may be empty.
    """

    code: FailureCode
    message: str
    by: Party

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", self.message[:LONGEST_MESSAGE])

    @classmethod
    def of(cls, error: LutraError, by: Party) -> Failure:
        """The failure of a computation that raised `error`, of a type from any package."""
        code = codes().get(error.code)
        return cls(code, str(error), by) if code else cls(ComputeCode.OTHER, f"{error.code}: {error}", by)

    @classmethod
    def told(cls, reason: str, by: Party = Party.AGENT) -> Failure:
        """The failure of a reason from outside: a code, a code before ": " and a message, or other words."""
        word, _, message = reason.partition(": ")
        code = codes().get(word)
        return cls(code, message, by) if code else cls(MeasureCode.NOT_MEASURED, reason, by)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Failure:
        """The failure that `to_dict` wrote; a code of another version becomes a part of the message."""
        word, message, by = document["code"], document["message"], Party(document["by"])
        code = codes().get(word)
        return cls(code, message, by) if code else cls(DecisionCode.UNKNOWN, f"{word}: {message}", by)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @property
    def text(self) -> str:
        """The failure in one line, for people: the code and the message, or the message alone if it says everything."""
        parts = (self.message,) if self.code.is_told_alone else (self.code, self.message)
        return ": ".join(part for part in parts if part)[:LONGEST_MESSAGE]


@cache
def codes() -> Mapping[str, FailureCode]:
    """Every code by its word."""
    return {code.value: code for kind in FailureCode.__subclasses__() for code in kind}


def printable(text: str, instead: str = "?") -> str:
    """`text` from outside, with `instead` for each character that a terminal might interpret as a command."""
    return "".join(c if c.isprintable() else instead for c in text)
