"""The agent that holds a directive. One agent holds it at a time, even if several share a token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Database
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
    delivery = row.delivery
    if delivery is None or delivery.handed_out_at is None or delivery.handed_to is None or delivery.handed_to == who:
        return False
    patience = REPLACED_AFTER if _name(delivery.handed_to) == _name(who) else SILENCE
    return unit.now < _last_word(unit, row.database_id, delivery.handed_to, delivery.handed_out_at) + patience


def _last_word(unit: UnitOfWork, database_id: str, holder: str, given: datetime) -> datetime:
    """When the agent that was given it then was last heard of."""
    agent, _, epoch = holder.partition("/")
    word = unit.reports.last_word(database_id, agent, epoch)
    return max(given, word or given)


def _name(who: str | None) -> str:
    return (who or "").partition("/")[0]
