"""MyRocks, where its plugin is loaded: its settings are there, cost memory, move and come back like all others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.changes.restore import restore
from lutra_agent.state.snapshot import BASELINE, stored_snapshots
from lutra_models.catalog import meet
from lutra_models.server import Policy

from tests.support.conformance.engine import Subject
from tests.support.servers.engines import missing, scratch
from tests.support.servers.subjects import subject_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]

MB = 1 << 20
WANTED = {
    "rocksdb_block_cache_size": 96 * MB,
    "rocksdb_db_write_buffer_size": 64 * MB,
    "rocksdb_max_background_jobs": 3,
}


@pytest.fixture
def subject(tmp_path: Path) -> Iterator[Subject]:
    with scratch("mariadb", plugin_load_add="ha_rocksdb", rocksdb_block_cache_size="64M") as server:
        if not server.sql("SHOW GLOBAL VARIABLES LIKE 'rocksdb_block_cache_size'"):
            missing("MyRocks (apt-get install mariadb-plugin-rocksdb)")
        made = subject_of(server, tmp_path / "state")
        yield made
        made.engine.health.close()


def test_its_settings_are_searched_counted_changed_and_taken_back(subject: Subject) -> None:
    server, before, file = subject.read_server(), subject.kept_settings(), subject.file()
    live = meet(server)
    assert set(WANTED) <= set(live.space(Policy()).names)
    terms = {t.name: t.bytes for t in live.worst_case({}).terms}
    assert terms["MyRocks block cache"] == 64 * MB

    outcome = subject.do("rec_1", WANTED)
    assert (outcome.state, outcome.active) == ("applied", WANTED), outcome

    baseline = stored_snapshots(subject.state, BASELINE)
    assert baseline is not None
    restore(subject.engine, subject.control, baseline, list(WANTED), restart=True)
    assert subject.kept_settings() == before
    assert subject.file() == file
