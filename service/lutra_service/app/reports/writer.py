"""Reports on their way into the store: those that arrive together share one commit."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from anyio import to_thread
from lutra_models.wire import Receipt, Report

from lutra_service.app.reports import bulk_intake, intake
from lutra_service.app.reports.bulk_intake import Arrival
from lutra_service.app.reports.configurations import Configurations
from lutra_service.common.together import Together
from lutra_service.db.store import CommitUnknown, Store, StoreFull

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
        alone = partial(intake.accept, database_id=database_id, report=report)
        return await to_thread.run_sync(self._store.write, alone)

    def _write(self, arrivals: Sequence[Arrival]) -> Sequence[Receipt | None]:
        try:
            return self._store.write(lambda unit: bulk_intake.accept(unit, arrivals, self._configurations))
        except (CommitUnknown, StoreFull):
            raise
        except Exception:
            # One of them may be at fault, or the database: each is tried alone and gets its own answer.
            log.warning("%d reports could not be stored together", len(arrivals), exc_info=True)
            return [None] * len(arrivals)
