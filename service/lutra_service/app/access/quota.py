"""The amount that one database may add to the stored data, and the maximum size of one report."""

from __future__ import annotations

from lutra_models.errors import InvalidReport
from lutra_models.wire import Report

from lutra_service.app.errors import QuotaExceeded
from lutra_service.common.documents import Document
from lutra_service.common.limits import REPORT_BYTES
from lutra_service.db.repositories.ledger import size
from lutra_service.db.store import UnitOfWork


def verify_room(unit: UnitOfWork, database_id: str) -> None:
    """Raises QuotaExceeded if the database's daily bytes are used up."""
    seconds = unit.ledger.seconds_until_room(database_id)
    if seconds:
        raise QuotaExceeded(
            f"{database_id} has used its quota (LUTRA_DAILY_BYTES); there is room in {seconds} s",
            seconds,
        )


def verify_size(what: str, documents: Document, most: int) -> None:
    """Raises InvalidReport."""
    found = size(documents)
    if found > most:
        raise InvalidReport(f"{what}: {found} bytes are too many; at most {most} are kept")


def verify_report(report: Report) -> None:
    """The size of a report without its settings, which are stored once. Raises InvalidReport."""
    verify_size("the report", report.model_dump(mode="json", exclude={"settings"}), REPORT_BYTES)
