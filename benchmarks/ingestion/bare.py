"""The least that a FastAPI service can do with a report: check its shape, and insert it as one row.

`python -m benchmarks.ingestion.bare PORT`, over LUTRA_DATABASE_URL.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import Any

import uvicorn
from fastapi import FastAPI
from lutra_models.wire import Report
from lutra_service.db.schema.engine import IMMEDIATE, make_engine
from lutra_service.db.schema.tables import ReportRow
from sqlalchemy import insert

COPIED = ("agent", "epoch", "sequence", "sent_at", "settings_hash", "p99_source", "p99_of", "failure")


def bare(url: str, configuration: dict[str, Any]) -> FastAPI:
    """Each report is stored with this `configuration`, as the service stores it with the parsed one."""
    app = FastAPI()
    engine = make_engine(url).execution_options(**{IMMEDIATE: True})

    @app.get("/readyz")
    def ready() -> dict[str, str]:
        return {"status": "ready"}

    @app.post("/v1/databases/{database}/reports")
    def store(database: str, report: Report) -> dict[str, bool]:
        window = report.window
        row = {
            "database_id": database,
            **{name: getattr(report, name) for name in COPIED},
            "received_at": datetime.now(UTC),
            "window_start": window.start if window else None,
            "window_end": window.end if window else None,
            "configuration": configuration,
            "metrics": report.metrics,
            "context": report.context,
            "outcomes": [],
        }
        with engine.begin() as connection:
            connection.execute(insert(ReportRow), row)
        return {"duplicate": False}

    return app


if __name__ == "__main__":
    from benchmarks.ingestion.fill import CONFIGURATION

    app = bare(os.environ["LUTRA_DATABASE_URL"], CONFIGURATION)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
