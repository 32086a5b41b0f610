"""Writes reports into the store: reports that arrive at the same time share one commit."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from anyio import to_thread
from lutra_models.wire import Receipt, Report

from lutra_service.app.errors import NameTaken
from lutra_service.app.reports import bulk_intake, intake, reporters
from lutra_service.app.reports.bulk_intake import Arrival
from lutra_service.app.reports.configurations import Configurations
from lutra_service.common.together import Together
from lutra_service.db.store import CommitUnknown, Store, StoreAway, StoreFull

log = logging.getLogger(__name__)


class ReportWriter:
    """Acknowledges no report before it is committed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._configurations = Configurations()
        self._together: Together[Arrival, Receipt | None] = Together(self._write)

    async def take(self, database_id: str, report: Report) -> Receipt:
        """Raises what `intake.accept` raises."""
        receipt = await self._together.ask(Arrival(database_id, report), database_id)
        if receipt is not None:
            return receipt
        return await to_thread.run_sync(self._take_alone, database_id, report)

    def _take_alone(self, database_id: str, report: Report) -> Receipt:
        """One that is refused for another agent's sake leaves a word with its database, and one in the log."""
        try:
            return self._store.write(partial(intake.accept, database_id=database_id, report=report))
        except NameTaken as error:
            if self._store.write(partial(reporters.note, database_id=database_id, why=str(error))):
                log.warning("a report was refused: %s", error)
            raise

    def _write(self, arwelcome: Sequence[Arrival]) -> Sequence[Receipt | None]:
        try:
            return self._store.write(lambda unit: bulk_intake.accept(unit, arwelcome, self._configurations))
        except (CommitUnknown, StoreAway, StoreFull):
            raise
        except Exception:
            # One of them may be at fault, or the database: each is tried alone and gets its own answer.
            log.warning("%d reports could not be stored together", len(arwelcome), exc_info=True)
            return [None] * len(arwelcome)
