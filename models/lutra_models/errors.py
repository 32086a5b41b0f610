"""What can go wrong, as types with a stable wire `code`. No HTTP here: one table in the service maps codes to statuses.

Programming mistakes stay `ValueError` and `TypeError`.
"""

from __future__ import annotations


class LutraError(Exception):
    """Base of every expected failure. The message carries the offending values."""

    code = "error"


class InvalidConfiguration(LutraError):
    """A configuration that its knob space, its catalogue or its server cannot take."""

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
    """A state machine was asked for a step that its state does not allow."""

    code = "illegal_transition"


class NotEnoughObservations(LutraError):
    """A model was asked for before there was anything to learn from."""

    code = "not_enough_observations"


class SpaceExhausted(LutraError):
    """No configuration is left that was not tried and that every rule lets pass; the message says which rule it is."""

    code = "space_exhausted"


class FitFailed(LutraError):
    """The numbers were there, and no model could be fitted to them."""

    code = "fit_failed"


class MemoryBudgetExceeded(InvalidConfiguration):
    """The worst case of a new configuration is above the memory limit."""

    code = "memory_budget_exceeded"


class InvalidOptions(LutraError):
    """An options document that steers nothing, or out of its range; the message names option, value and range."""

    code = "invalid_options"


class MissingExtension(LutraError):
    """What an options document names comes from a package that is not installed."""

    code = "missing_extension"


class BrokenExtension(LutraError):
    """An installed package brings Lutra a value that cannot be used."""

    code = "broken_extension"


def printable(text: str, instead: str = "?") -> str:
    """`text` from outside, with `instead` for each character that a terminal might take for a command of its own."""
    return "".join(c if c.isprintable() else instead for c in text)
