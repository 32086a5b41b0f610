"""Several things wrong at once: what waits, what gives way, and what no change may take."""

from __future__ import annotations

import pytest
from lutra_models.catalog import meet
from lutra_models.evidence import Finding
from lutra_models.knobs import Configuration
from lutra_models.server import Policy

from tests.support.reported.postgresql import a_server
from tests.unit.assessment.injected import GB, HOUR, MB, Numbers, Seen, busy, innodb, moves, postgresql, strong

SWAPS: Numbers = {"host.swap_in_bytes": HOUR * 3 * MB, "host.swap_out_bytes": HOUR * 3 * MB}
SMALL_POOL: Numbers = {"buffer_pool.reads": 2e7}
FULL: Numbers = {"buffer_pool.pages_total": 262_144, "buffer_pool.pages_free": 2000}
MISSES: Numbers = {"database.blks_read": 3e7, "bgwriter.buffers_alloc": 3e7}
SPILLS: Numbers = {"database.temp_files": 30_000, "database.temp_bytes": 30_000 * 3.0 * MB}
FORCED: Numbers = {"checkpointer.requested": 60, "checkpointer.timed": 0, "wal.bytes": 20.0 * GB}


def named(seen: Seen, name: str) -> Finding:
    (found,) = (f for f in seen.evidence().findings if f.name == name)
    return found


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_a_host_that_swaps_is_asked_for_no_larger_pool(engine: str) -> None:
    roomy = busy(innodb(engine, innodb_buffer_pool_size="4G"), SMALL_POOL, FULL)
    assert {m.setting for m in moves(roomy.evidence())} == {"innodb_buffer_pool_size"}
    swaps = busy(innodb(engine, innodb_buffer_pool_size="4G"), {**SMALL_POOL, **SWAPS}, FULL)
    assert moves(swaps.evidence()) == []
    (move,) = named(swaps, "pool_small").moves
    assert move.obstacle == "the host has no free memory: it swaps"
    assert "swapping" in {f.name for f in strong(swaps.evidence())}


def test_a_host_that_swaps_is_asked_for_what_takes_no_memory() -> None:
    ill = {**MISSES, **SPILLS, **FORCED, **SWAPS}
    seen = busy(postgresql(shared_buffers="128MB", work_mem="1MB", max_wal_size="1GB"), ill)
    assert {m.setting for m in moves(seen.evidence())} == {"max_wal_size"}


def test_of_a_stock_server_on_a_host_that_swaps_no_rule_asks_for_memory() -> None:
    stock = a_server("15", 16)
    asked = {m.setting for m in moves(busy(stock).evidence())}
    assert {"shared_buffers", "effective_cache_size"} <= asked
    assert asked - {m.setting for m in moves(busy(stock, SWAPS).evidence())} == {"shared_buffers", "work_mem"}


def test_what_is_wrong_together_is_told_by_its_worth_and_keeps_the_memory_limit() -> None:
    ill = {**MISSES, **SPILLS, **FORCED, "statements.jit_ms": 2e6}
    server = postgresql(shared_buffers="128MB", work_mem="1MB", max_wal_size="1GB", memory_gb=4)
    found = busy(server, ill).evidence()
    assert [f.name for f in strong(found)][:2] == ["checkpoints_forced", "sorts_spill"]
    assert {m.setting for m in moves(found)} == {"max_wal_size", "shared_buffers", "work_mem", "jit"}
    live = meet(server)
    reached = Configuration({m.setting: m.after for m in moves(found) if m.after is not None})
    assert live.memory_refusal(Policy(), reached) is None


@pytest.mark.parametrize("connections", [100, 400])
@pytest.mark.parametrize("peak", [0, 40, 90])
@pytest.mark.parametrize("gb", [1, 2, 4, 8, 16, 64])
def test_cures_that_go_as_far_as_the_rules_keep_the_memory_limit_together(gb: int, peak: int, connections: int) -> None:
    ill = {**MISSES, **SPILLS, **FORCED, "wal.buffers_full": 3e5}
    crowded = {"vacuum.index_passes": 3, "activity.connections": 0.98 * connections}
    server = a_server("15", gb, peak_connections=peak, max_connections=connections)
    found = busy(server, ill, crowded).evidence()
    cured = {m.setting: m.after for f in strong(found) if f.ground == "fault" for m in f.moves if m.after is not None}
    assert cured
    assert meet(server).memory_refusal(Policy(), Configuration(cured)) is None


@pytest.mark.parametrize(
    "policy",
    [
        Policy(pins={"shared_buffers": "128MB"}),
        Policy(movable=frozenset({"jit"})),
        Policy(restart=False),
        Policy(ranges={"shared_buffers": ("128MB", "130MB")}),
    ],
)
def test_a_cure_that_is_not_allowed_is_not_offered_and_says_why(policy: Policy) -> None:
    seen = busy(postgresql(shared_buffers="128MB"), MISSES, policy=policy)
    (move,) = named(seen, "buffers_small").moves
    assert move.after is None
    assert move.obstacle
    assert moves(seen.evidence()) == []


def test_read_ahead_that_a_small_pool_throws_away_waits_for_the_pool() -> None:
    wasted = {"buffer_pool.read_ahead": 1e6, "buffer_pool.read_ahead_evicted": 9e5}
    small = busy(innodb("mysql", innodb_buffer_pool_size="4G"), {**SMALL_POOL, **wasted}, FULL)
    assert {m.setting for m in moves(small.evidence())} == {"innodb_buffer_pool_size"}
    large = busy(innodb("mysql"), wasted)
    assert {m.setting for m in moves(large.evidence())} == {"innodb_read_ahead_threshold"}


def test_a_cure_never_goes_back_on_one_that_was_taken() -> None:
    """After each cure the same windows must not ask for the opposite of it."""
    server = postgresql(shared_buffers="128MB", work_mem="1MB", max_wal_size="1GB")
    ill = {**MISSES, **SPILLS, **FORCED}
    before = moves(busy(server, ill).evidence())
    cured = postgresql(**{m.setting: m.after for m in before if m.after is not None})
    again = {m.setting: m.way for m in moves(busy(cured, ill).evidence())}
    assert all(again.get(m.setting, m.way) == m.way for m in before)
