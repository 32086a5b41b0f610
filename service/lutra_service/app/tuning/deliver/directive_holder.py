"""The agent that holds a directive. One agent holds it at a time, even if several share a token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lutra_service.db.schema.records import Database, Recommendation
from lutra_service.db.store import UnitOfWork

SILENCE = timedelta(hours=1)
"""The silence after which an agent no longer holds its directive. A restart may take many minutes."""
REPLACED_AFTER = timedelta(minutes=1)
"""The same for an agent of the same name that started again without its state: only one has that name."""


@dataclass(frozen=True)
class Holder:
    """An agent, and the epoch of its state."""

    agent: str
    epoch: str

    def __str__(self) -> str:
        return f"{self.agent}/{self.epoch}"


def asking(database: Database, named: Holder | None) -> str | None:
    """The requesting agent: the named one, otherwise the one with the newest report; None before the first report."""
    return str(named) if named is not None else database.reporter


def held_by_another(unit: UnitOfWork, row: Recommendation, who: str | None) -> bool:
    if row.handed_to is None or row.handed_to == who:
        return False
    return unit.now < last_word(unit, row) + (REPLACED_AFTER if _name(row.handed_to) == _name(who) else SILENCE)


def last_word(unit: UnitOfWork, row: Recommendation) -> datetime:
    """The last report of the agent that holds it."""
    assert row.handed_out_at is not None
    if row.handed_to is None:
        return row.handed_out_at
    agent, _, epoch = row.handed_to.partition("/")
    word = unit.reports.last_word(row.database_id, agent, epoch)
    return max(row.handed_out_at, word or row.handed_out_at)


def _name(who: str | None) -> str:
    return (who or "").partition("/")[0]
