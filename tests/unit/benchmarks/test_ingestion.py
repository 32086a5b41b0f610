"""The store that the ingestion benchmark fills."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from benchmarks.ingestion.fill import fill, report
from tests.support.service.served import Served


def test_a_filled_database_reports_to_the_service(tmp_path: Path) -> None:
    reporters = fill(f"sqlite:///{tmp_path / 'lutra.db'}", 2)
    with Served(tmp_path) as served:
        for each in reporters:
            answer = served.client.post(
                f"/v1/databases/{each.database}/reports",
                json=report(1, datetime.now(UTC)),
                headers={"Authorization": f"Bearer {each.token}"},
            )
            assert answer.status_code == 200, answer.text
