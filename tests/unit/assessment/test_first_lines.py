"""Stock servers made wrong in many ways: each gets an answer of its own, and none the same rules as all others."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from lutra_models.catalog import meet
from lutra_models.server import Policy
from lutra_models.symptoms import MeasuredWindow, diagnose

from benchmarks.faults.lines import alike, answer, distinct
from tests.support.reported.postgresql import a_server
from tests.unit.assessment.injected import GB, HOST_COUNTS, HOST_LEVELS, MB, MINUTE, Numbers

pytestmark = pytest.mark.slow

SECONDS = 10 * MINUTE
SHOP: Numbers = {
    **HOST_LEVELS,
    "data.bytes": 640.0 * MB,
    "size.bytes": 610.0 * MB,
    "tables.live_rows": 2e6,
    "tables.dead_rows": 3e4,
    "tables.behind": 0,
    "tables.unanalyzed": 0,
    "tables.bare_share": 0.1,
    "workers.vacuuming": 0.1,
    "workers.vacuum_delayed": 0.05,
    "workers.parallel": 0.1,
    "activity.connections": 20,
    "activity.places": 97,
    "activity.active": 4,
    "activity.waiting_lock": 0.2,
    "activity.waiting_wal_sync": 0.3,
    "activity.idle_in_transaction": 1,
    "activity.oldest_transaction_s": 1,
    "vacuum.index_passes": 0,
    "vacuum.oldest_xid_age": 2e6,
    "replication.standbys": 0,
    "replication.synchronous": 0,
    "slots.inactive": 0,
    "slots.lost": 0,
    "horizon.session_xids": 40,
    "horizon.prepared_xids": 0,
    "horizon.prepared_s": 0,
    "horizon.slot_xids": 0,
    "horizon.slot_catalog_xids": 0,
    "horizon.standby_xids": 0,
    "horizon.server_xids": 40,
}
COUNTS: Numbers = {
    **{name: count / 6 for name, count in HOST_COUNTS.items()},
    "host.disk_read_bytes": 90.0 * MB,
    "checkpointer.requested": 0,
    "checkpointer.timed": 2,
    "checkpointer.buffers_written": 4000,
    "checkpointer.sync_ms": 90,
    "wal.bytes": 60.0 * MB,
    "wal.full_page_images": 3000,
    "wal.buffers_full": 2,
    "database.xact_commit": 18_000,
    "database.blks_hit": 4e6,
    "database.blks_read": 9000,
    "database.own_blocks": 4e6,
    "database.temp_files": 0,
    "database.temp_bytes": 0,
    "database.tup_updated": 40_000,
    "database.tup_deleted": 9000,
    "database.sessions": 30,
    "horizon.xids": 18_000,
    "bgwriter.buffers_alloc": 9000,
    "bgwriter.buffers_clean": 100,
    "bgwriter.maxwritten_clean": 0,
    "tables.seq_scans": 300,
    "tables.seq_rows": 1e6,
    "tables.idx_scans": 4e5,
    "statements.jit_ms": 100,
    "statements.exec_ms": 1e5,
}
"""Ten minutes of a shop of 640 MB at 30 transactions a second."""
BEHIND: Numbers = {"tables.behind": 4, "tables.dead_rows": 1e6}
WAITS: Numbers = {"activity.waiting_standby": 9, "activity.longest_wait_for_standby_s": 50}
FAULTS: Mapping[str, tuple[Mapping[str, str | int | float], Numbers, Numbers]] = {
    # what is set, what is counted, what levels read
    "commits wait for a standby that does not exist": ({}, {}, WAITS),
    "all sessions behind one lock": (
        {},
        {},
        {"activity.waiting_lock": 15, "activity.active": 16, "blocking.longest_object_wait_s": 60},
    ),
    "archiving fails": ({"archive_mode": "on"}, {}, {"archiver.failing_s": 900}),
    "a slot that nobody reads": ({}, {}, {"slots.inactive": 1, "slots.inactive_bytes": 6.0 * GB}),
    "a slot that is lost": ({}, {}, {"slots.lost": 1}),
    "fsync off": ({"fsync": "off"}, {}, {}),
    "full_page_writes off": ({"full_page_writes": "off"}, {}, {}),
    "damaged pages are zeroed": ({"zero_damaged_pages": "on"}, {}, {}),
    "rows are not counted": ({"track_counts": "off"}, {}, {}),
    "work_mem of 4 GB": ({"work_mem": "4GB"}, {}, {}),
    "shared_buffers of 17 GB": ({"shared_buffers": "17GB"}, {}, {}),
    "hash joins off": ({"enable_hashjoin": "off"}, {}, {}),
    "index scans off": ({"enable_indexscan": "off"}, {}, {}),
    "everything logged": ({"log_statement": "all", "log_min_duration_statement": 0}, {}, {}),
    "statements cut at 30 ms": ({"statement_timeout": "30ms"}, {}, {}),
    "autovacuum off": ({"autovacuum": "off"}, {}, BEHIND),
    "autovacuum throttled": (
        {"autovacuum_vacuum_cost_limit": 10, "autovacuum_vacuum_cost_delay": "100ms"},
        {},
        {**BEHIND, "workers.vacuuming": 2.7, "workers.vacuum_delayed": 2.6},
    ),
    "autovacuum late": (
        {"autovacuum_vacuum_scale_factor": 0.99},
        {},
        {"tables.dead_rows": 9e5},
    ),
    "autovacuum comes each hour": ({"autovacuum_naptime": "1h"}, {}, {**BEHIND, "workers.vacuuming": 0}),
    "a prepared transaction keeps dead rows": (
        {},
        {},
        {
            **BEHIND,
            "tables.dead_rows": 3e5,
            "horizon.prepared_xids": 90_000,
            "horizon.prepared_s": 3600,
            "horizon.server_xids": 90_000,
        },
    ),
    "a session idle in its transaction": (
        {},
        {},
        {"sessions.idle_in_transaction": 1, "sessions.idle_in_transaction_s": 3000},
    ),
    "transaction ids run out": ({}, {}, {"vacuum.oldest_xid_age": 1.7e9}),
    "checkpoints forced": ({"max_wal_size": "64MB"}, {"checkpointer.requested": 20, "wal.bytes": 4.0 * GB}, {}),
    "checkpoints in a rush": ({"checkpoint_completion_target": 0}, {"checkpointer.buffers_written": 40_000}, {}),
    "WAL buffers of 32 kB": ({"wal_buffers": "32kB"}, {"wal.buffers_full": 9e4}, {}),
    "sorts spill": ({"work_mem": "64kB"}, {"database.temp_files": 9000, "database.temp_bytes": 9000 * 2.0 * MB}, {}),
    "a cache of 8 MB": (
        {"shared_buffers": "8MB"},
        {"database.blks_read": 2e6, "bgwriter.buffers_alloc": 2e6},
        {},
    ),
    "JIT for short queries": ({"jit_above_cost": 0}, {"statements.jit_ms": 8e4}, {}),
    "pages at random priced out": (
        {"random_page_cost": 1000},
        {"tables.seq_scans": 3000, "tables.seq_rows": 4e9},
        {},
    ),
    "no index on a foreign key": (
        {},
        {"tables.seq_scans": 3000, "tables.seq_rows": 4e9},
        {"tables.bare_share": 0.97},
    ),
    "one row that all want": ({}, {}, {"activity.waiting_lock": 3.8, "activity.oldest_transaction_s": 3}),
    "a slow disk for commits": ({}, {}, {"activity.waiting_wal_sync": 3.5}),
    "a connection for each transaction": ({}, {"database.sessions": 17_000}, {}),
    "nearly no connection is left": ({}, {}, {"activity.connections": 97}),
    "commit_delay of 0.1 s": ({"commit_delay": 100_000}, {}, {}),
    "neighbours take the processors": ({}, {"host.cpu_steal_s": 700}, {}),
    "the host swaps": ({}, {"host.swap_in_bytes": 900.0 * MB, "host.swap_out_bytes": 900.0 * MB}, {}),
}


def lines(fault: str) -> list[str]:
    settings, counts, levels = FAULTS[fault]
    server = a_server("15", 23.5, cores=2, **settings)
    live = meet(server)
    missing = set(settings) - server.settings.keys()
    assert not missing
    counted = {f"{n}_per_s": c / SECONDS for n, c in {**COUNTS, **counts}.items()}
    windows = [MeasuredWindow(SECONDS / 10, {**counted, **SHOP, **levels})] * 10
    return answer(live, Policy(), diagnose(live, Policy(), windows))


def test_stock_servers_made_wrong_in_many_ways_get_answers_that_begin_in_as_many_ways() -> None:
    answers = {fault: lines(fault) for fault in FAULTS}
    assert distinct(answers.values()) >= 0.95 * len(FAULTS), alike(answers)
    ruled = [fault for fault, told in answers.items() if told[0].startswith("Proposed")]
    assert ruled == [], "each has its fault in the first line"
    assert len(FAULTS) >= 30


@pytest.mark.parametrize("fault", ["commits wait for a standby that does not exist", "all sessions behind one lock"])
def test_an_outage_is_the_first_of_them_and_brings_no_rule(fault: str) -> None:
    told = lines(fault)
    assert told[0].startswith("Outage: ")
    assert "by rules for this hardware" not in " ".join(told)


def test_a_cure_that_needs_a_restart_is_not_hidden_behind_the_rules() -> None:
    told = lines("a cache of 8 MB")
    assert "33.3 % of page reads missed shared_buffers" in told[0]
    assert "Further cures need a restart and come in a separate recommendation: shared_buffers." in told[1]
