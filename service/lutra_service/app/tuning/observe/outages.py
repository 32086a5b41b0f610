"""The outage that keeps the clients of a live database from working now: a session reports it first."""

from __future__ import annotations

from lutra_models.evidence import harm

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.databases.symptoms import accepted, seen
from lutra_service.db.store import UnitOfWork

OUTAGE = "Outage: "
"""The prefix of a line about it."""
NOW_MINUTES = 5.0
"""The time span of the windows that show an outage: a past one does not count."""


def lines(unit: UnitOfWork, at: ServerContext) -> list[str]:
    """A line for each outage whose risk is not accepted, with the statements to execute."""
    diagnosis = seen(unit, at, NOW_MINUTES).diagnosis
    known = accepted(unit, at, diagnosis)
    found = [s for s in diagnosis.symptoms if harm(s.kind) == 0 and s.name not in known]
    return [" ".join((f"{OUTAGE}{s.sentence}", *s.statements)) for s in found]


def without(message: str) -> str:
    """The message without those that were seen when it was made."""
    return "\n".join(line for line in message.split("\n") if not line.startswith(OUTAGE))
